#include <catch2/catch.hpp>
#include <limits>

#include "check/submissions.hpp"
#include "formats/arrays/dtype.hpp"

namespace check_hidden_cells_tests {

/// Rows of which a mask leaves little to round.
namespace {

using namespace qkv;
using namespace qkv::test;

/// The same three ways to write softmax: scores of 0.3, …, V = 2 3
///                                                            4 5
///                                                            1 1
Task softmax_in(const std::string& steps) {
  return Task(R"(
title = "Three words"
summary = "s"
source = "by hand"
[[given]]
name = "scores"
value = [[0.37, 9, 9], [-4.12, -5.23, 9], [0.12, -6.34, 0.57]]
[[given]]
name = "V"
value = [[2, 3], [4, 5], [1, 1]]
[[step]]
name = "scaled_scores"
op = "scale"
of = ["scores"]
by = 3
[[step]]
name = "masked_scores"
op = "mask"
of = ["scaled_scores"]
kind = "causal"
)" + steps + R"(
[[step]]
name = "context"
op = "weighted_sum"
of = ["attention_weights", "V"]
)");
}

const Task& at_once() {
  static const Task task = softmax_in(R"(
[[step]]
name = "attention_weights"
op = "softmax"
of = ["masked_scores"]
)");
  return task;
}

const Task& in_strides() {
  static const Task task = softmax_in(R"(
[[step]]
name = "exps"
op = "exp"
of = ["masked_scores"]
[[step]]
name = "attention_weights"
op = "normalise"
of = ["exps"]
)");
  return task;
}

// By NumPy: the weights are 1, 0, 0; 0.591, 0.409, 0; 0.439, 0.051, 0.510.
TEST_CASE("the weight of the only key that is seen is 1, whatever its score was rounded to") {
  for (const Task* task : {&at_once(), &in_strides()}) {
    CHECK(verdicts(checked(*task, {{"attention_weights", "1.0,0,0\n0.6,0.4,0\n0.4,0.1,0.5\n"}}),
                   "attention_weights") == "ccc ccc ccc");
    CHECK(verdicts(checked(*task, {{"attention_weights", "1.1,0,0\n0.6,0.4,0\n0.4,0.1,0.5\n"}}),
                   "attention_weights") == "wcc ccc ccc");
    CHECK(verdicts(checked(*task, {{"attention_weights", "1.0,0.1,0\n0.6,0.4,0\n0.4,0.1,0.5\n"}}),
                   "attention_weights") == "cwc ccc ccc");
  }
}

// e^(-9) is 0.0001234: with three decimals it is 0.000, and its share of itself is 0 / 0.
TEST_CASE("the only weight of a row may be 0 where its power of e may have been rounded to 0") {
  static const Task task(R"(
title = "t"
summary = "s"
[[given]]
name = "scores"
value = [[-9], [0.5]]
[[step]]
name = "exps"
op = "exp"
of = ["scores"]
[[step]]
name = "attention_weights"
op = "normalise"
of = ["exps"]
)");
  const auto of = [](const char* text) {
    return verdicts(checked(task, {{"attention_weights", text}}), "attention_weights");
  };
  CHECK(of("0.000\n1.000\n") == "u c");
  CHECK(of("1.000\n0.990\n") == "c w");
}

TEST_CASE("zeros in place of hidden cells are named, also if only some columns have them") {
  static const Task task(R"(
title = "t"
summary = "s"
[[given]]
name = "scores"
value = [[1, 2, 3, 4, 5], [2, 3, 4, 5, 6], [3, 4, 5, 6, 7], [4, 5, 6, 7, 8], [5, 6, 7, 8, 9]]
[[step]]
name = "masked_scores"
op = "mask"
of = ["scores"]
kind = "causal"
)");
  const char* const zeros = "1,-inf,-inf,0,0\n2,3,-inf,0,0\n3,4,5,0,0\n4,5,6,,0\n5,6,7,8,9\n";
  const auto report = checked(task, {{"masked_scores", zeros}});
  const auto& step = report.steps.front();
  CHECK(step.cells.wrong == 7);
  REQUIRE(step.mistakes.size() == 1);
  CHECK(step.mistakes.front().id == "mask.zero");
}

// By NumPy: 2, 3; 2.818, 3.818; 1.591, 2.082.
TEST_CASE("the context of the only key that is seen is its value") {
  for (const Task* task : {&at_once(), &in_strides()}) {
    CHECK(verdicts(checked(*task, {{"context", "2.0,3.0\n2.8,3.8\n1.6,2.1\n"}}), "context") ==
          "cc cc cc");
    CHECK(verdicts(checked(*task, {{"context", "2.1,3.0\n2.8,3.8\n1.6,2.1\n"}}), "context") ==
          "wc cc cc");
    CHECK(verdicts(checked(*task, {{"scaled_scores", "0.1,3,3\n-1.4,-1.7,3\n0,-2.1,0.2\n"},
                                   {"context", "3.0,3.0\n2.8,3.8\n1.6,2.1\n"}}),
                   "context") == "wc cc cc");
  }
}

// By NumPy: the powers are 1.131; 0.253, 0.175; 1.041, 0.121, 1.209. With one decimal those of the
// second row are 0.3 and 0.2, their true range with a unit on either side [0.2, 0.4] and [0.1,
// 0.3]: the weights are [0.4, 0.8] and [0.2, 0.6].
TEST_CASE("a share of powers of e is between 0 and 1, however coarsely they were rounded") {
  const std::string powers = "1.1,0,0\n0.3,0.2,0\n1.0,0.1,1.2\n";
  const auto of_weights = [&](const std::string& second) {
    const std::string weights = "1.0,0.0,0.0\n" + second + "\n0.4,0.1,0.5\n";
    return verdicts(checked(in_strides(), {{"exps", powers}, {"attention_weights", weights}}),
                    "attention_weights");
  };
  CHECK(of_weights("0.6,0.4,0.0") == "ccc ccc ccc");
  CHECK(of_weights("0.4,0.6,0.0") == "ccc rrc ccc");
  CHECK(of_weights("1.1,0.0,0.0") == "ccc wwc ccc");
}

TEST_CASE("powers of e that were rounded to nothing leave shares of 1 at most") {
  static const Task task = [] {
    return Task(R"(
title = "Small powers"
summary = "s"
source = "by hand"
[[given]]
name = "scores"
value = [[-4.5, -3.7, -4.1], [-9.1, -8.2, -7.7]]
[[step]]
name = "exps"
op = "exp"
of = ["scores"]
[[step]]
name = "attention_weights"
op = "normalise"
of = ["exps"]
)");
  }();
  // e^-4.5 = 0.011, e^-3.7 = 0.025, e^-4.1 = 0.017; the others are below 0.001.
  const Texts texts = {{"exps", "0.0,0.0,0.0\n0.0,0.0,0.0\n"},
                       {"attention_weights", "0.2,0.5,0.3\n1000.0,-0.2,1.2\n"}};
  CHECK(verdicts(checked(task, texts), "attention_weights") == "ccc www");
}

const Task& of_low_scores() {
  static const Task task(R"(
title = "Scores that are low"
summary = "s"
source = "by hand"
[[given]]
name = "scores"
value = [[5, 9], [0, -2000]]
[[step]]
name = "masked_scores"
op = "mask"
of = ["scores"]
kind = "causal"
[[step]]
name = "tenths"
op = "scale"
of = ["masked_scores"]
by = 10
)");
  return task;
}

TEST_CASE("a low score that is right is no mask, though a hidden cell beside it has one") {
  const auto report = checked(of_low_scores(), {{"masked_scores", "5,-1e9\n0,-2000\n"}});
  CHECK(verdicts(report, "masked_scores") == "cc cc");
}

TEST_CASE("a mask that was divided is a mask, down to a tenth of the highest one") {
  const auto tenths = [](const std::string& mask, const std::string& tenth) {
    const Texts texts = {{"masked_scores", "5," + mask + "\n0,-2000\n"},
                         {"tenths", "0.5," + tenth + "\n0,-200.0\n"}};
    return verdicts(checked(of_low_scores(), texts), "tenths");
  };
  CHECK(tenths("-1000", "-100") == "cc cc");
  CHECK(tenths("-1000", "-102") == "cw cc");  // further than a hundredth
}

TEST_CASE("a mask in a visible cell is wrong, and no evidence of how the others were rounded") {
  const auto report = checked(two_words(), {{"masked_scores", "4.03,-inf\n-1e9,7.64\n"}});
  CHECK(verdicts(report, "masked_scores") == "cc wc");
  CHECK(report.steps.front().basis == ToleranceBasis::decimals);
}

// Keys run down. In the first head -1000 would not be far below the only key that query 1 sees.
TEST_CASE("with tokens as columns a mask is far below the other keys of its column") {
  static const Task task(R"(
title = "Two heads in columns"
summary = "s"
source = "by hand"
convention = "columns"
[[given]]
name = "scores"
value = [[[-980, 0], [9, 1]], [[5, -2000], [9, -2000]]]
[[step]]
name = "masked_scores"
op = "mask"
of = ["scores"]
kind = "causal"
)");
  Submission work = submission_of({{"masked_scores", "0,0\n0,0\n"}}, task.trace);
  ParsedArray& written = work.files[0].written;
  written.shape = {2, 2, 2};
  written.cells = {};
  for (const double x : {-980.0, 0.0, -1e9, 1.0, 5.0, -2000.0, -1000.0, -2000.0}) {
    written.cells.to_write().push_back({.value = x});
  }
  const auto report = check_submission(task.lesson, task.trace, work, {});
  CHECK(verdicts(report, "masked_scores") == "cc cc cc cc");
}

// Rows 3 and 4 of the file are the second head, whose second column the learner hid.
TEST_CASE("NaN follows from a hidden column where weights sum to 1 down the columns") {
  static const Task task(R"(
title = "Weights by column"
summary = "s"
source = "by hand"
[[given]]
name = "A"
value = [[[2, 4], [6, 8]], [[1, 3], [5, 7]]]
[[step]]
name = "S"
op = "scale"
of = ["A"]
by = 2
[[step]]
name = "W"
op = "softmax"
of = ["S"]
axis = "columns"
)");
  Submission work = submission_of({{"S", "0,0\n0,0\n"}, {"W", "0,0\n0,0\n"}}, task.trace);
  const double inf = infinity;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  // e^-2 / (1 + e^-2) = 0.119202922022118 and 1 less that, in each column.
  const double low = 0.119202922022118;
  const std::vector<double> s = {1, 2, 3, 4, 0.5, -inf, 2.5, -inf};
  const std::vector<double> w = {low, low, 1 - low, 1 - low, low, nan, 1 - low, nan};
  work.files[0].written = array_of_values({2, 2, 2}, s, Precision::float64);
  work.files[1].written = array_of_values({2, 2, 2}, w, Precision::float64);
  const auto report = check_submission(task.lesson, task.trace, work, {});
  CHECK(verdicts(report, "S") == "cc cc cw cw");
  CHECK(verdicts(report, "W") == "cc cc ca ca");
}

}  // namespace

}  // namespace check_hidden_cells_tests
