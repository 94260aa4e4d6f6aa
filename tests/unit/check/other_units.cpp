// Units that are as good as the lesson's are accepted where they stand throughout.

#include <catch2/catch.hpp>

#include "check/submissions.hpp"

using namespace qkv::test;

namespace {

const Task& two_parts() {
  static const Task task(R"(
title = "Two parts"
[[given]]
name = "S_1"
value = [[1, 0], [2, 0.5]]
[[given]]
name = "S_2"
value = [[3, 1], [-1, 0]]
[[given]]
name = "O_1"
value = [[1], [0]]
[[given]]
name = "O_2"
value = [[-1], [4]]
[[step]]
name = "L_1"
op = "log_sum_exp"
of = ["S_1"]
[[step]]
name = "L_2"
op = "log_sum_exp"
of = ["S_2"]
[[step]]
name = "merged"
op = "merge"
of = ["O_1", "L_1", "O_2", "L_2"]
)");
  return task;
}

std::string accepted_convention(const qkv::CheckReport& report, std::string_view step) {
  for (const qkv::StepReport& one : report.steps) {
    if (one.step == step) return one.accepted_convention.value_or("none");
  }
  return "not listed";
}

}  // namespace

// NumPy: np.log(np.exp(S).sum(1)), the same by np.log2(e), and the outputs by their shares.
TEST_CASE("log-sum-exps to base 2 are taken as they are where all are such") {
  const qkv::CheckReport report = checked(
      two_parts(), {{"L_1", "1.895\n3.176"}, {"L_2", "4.511\n0.452"}, {"merged", "-0.720\n0.526"}});
  CHECK(verdicts(report, "L_1") == "c c");
  CHECK(verdicts(report, "L_2") == "c c");
  CHECK(verdicts(report, "merged") == "c c");
  CHECK(accepted_convention(report, "L_1") == "convention.lse-base");
  CHECK(accepted_convention(report, "merged") == "none");
  CHECK(verdicts(checked(two_parts(), {{"L_1", "1.895\n3.176"}}, {.strict = true}), "L_1") ==
        "w w");
}

TEST_CASE("one of several to base 2 is a mistake") {
  const qkv::CheckReport report =
      checked(two_parts(), {{"L_1", "1.313\n2.201"}, {"L_2", "4.511\n0.452"}});
  CHECK(verdicts(report, "L_1") == "c c");
  CHECK(mistakes(report, "L_2") == "flash.lse-base-2");
}
