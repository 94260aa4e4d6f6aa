#include "check/grading/advice.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "lesson/lesson.hpp"
#include "trace/trace.hpp"

namespace check_lesson_faults_tests {

namespace {

using namespace qkv;

Trace trace_of(const std::string& toml) {
  const ParsedLesson reading = read_lesson(toml, "test.toml", {});
  REQUIRE(reading.faults.empty());
  return evaluate(reading.lesson.recipe);
}

bool has(const std::vector<IndistinguishablePair>& found, std::string_view step,
         std::string_view id, std::string_view other = {}) {
  return std::any_of(found.begin(), found.end(), [&](const IndistinguishablePair& one) {
    return one.step == step && one.id == id && one.other == other;
  });
}

const std::string symmetric = R"(
[[given]]
name  = "X"
value = [[1, 0], [0, 2]]
[[given]]
name  = "W"
value = [[1, 3], [3, 2]]
[[step]]
name = "Q"
op   = "project"
of   = ["X", "W"]
)";

TEST_CASE("a symmetric weight hides that it was turned") {
  CHECK(has(invisible_mistakes(trace_of(symmetric), 0.001), "Q", "project.transposed-weight"));
}

TEST_CASE("a weight that is not symmetric shows it") {
  std::string other = symmetric;
  other.replace(other.find("[3, 2]"), 6, "[0, 2]");
  CHECK(invisible_mistakes(trace_of(other), 0.001).empty());
}

TEST_CASE("what differs by less than the unit is the same") {
  std::string other = symmetric;
  other.replace(other.find("[3, 2]"), 6, "[3.0004, 2]");
  CHECK(has(invisible_mistakes(trace_of(other), 0.001), "Q", "project.transposed-weight"));
  CHECK(invisible_mistakes(trace_of(other), 0.0001).empty());
}

TEST_CASE("d_k of 2 and d_model of 4: two ways to scale that give the same") {
  const std::string lesson = R"(
[[given]]
name  = "X"
value = [[1, 0, 1, 2], [0, 2, 1, 1]]
[[given]]
name  = "W_Q"
value = [[1, 0], [0, 1], [1, 1], [2, 0]]
[[given]]
name  = "W_K"
value = [[0, 1], [1, 2], [1, 0], [1, 1]]
[[step]]
name = "Q"
op   = "project"
of   = ["X", "W_Q"]
[[step]]
name = "K"
op   = "project"
of   = ["X", "W_K"]
[[step]]
name = "scores"
op   = "score"
of   = ["Q", "K"]
[[step]]
name = "scaled_scores"
op   = "scale"
of   = ["scores"]
)";
  // √4 for d_model is d_k itself, which is 2.
  const auto found = indistinguishable_mistakes(trace_of(lesson), 0.002);
  CHECK(has(found, "scaled_scores", "scale.by-sqrt-d-model", "scale.by-d"));
  // And as many tokens as d_k.
  const auto invisible = invisible_mistakes(trace_of(lesson), 0.002);
  REQUIRE(invisible.size() == 1);
  CHECK(invisible.front().id == "scale.by-sqrt-n");
}

}  // namespace

}  // namespace check_lesson_faults_tests
