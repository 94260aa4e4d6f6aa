#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "lesson/lesson.hpp"
#include "trace/trace.hpp"

namespace trace_backward_tests {

namespace {

using namespace qkv;

// The numbers of one step of a lesson, in order.
std::vector<double> made(const std::string& toml, const std::string& step) {
  const ParsedLesson reading = read_lesson(toml, "test.toml", {});
  REQUIRE(reading.faults.empty());
  const Trace trace = evaluate(reading.lesson.recipe);
  const auto& values = trace.at(step).values;
  return {values.begin(), values.end()};
}

// Two heads of scores, and a number for each head, whatever shape that has.
std::string two_heads(const std::string& op, const std::string& numbers) {
  return R"(
[[given]]
name = "S"
value = [[[1, 2], [0.5, -1]], [[3, 0], [1, 1]]]
[[given]]
name = "numbers"
value = )" +
         numbers + R"(
[[given]]
name = "d_A"
value = [[[1, 0], [0, 2]], [[0, 3], [-1, 4]]]
[[step]]
name = "A"
op = ")" +
         op + R"("
of = ["S", "numbers"]
[backward]
from = { A = "d_A" }
)";
}

}  // namespace

TEST_CASE("the gradient of a head's own number is that head's, whatever shape the numbers have") {
  // By hand: each slope loses d_A ∘ |i − j|, 0 + 0 for head 1 and 3 + -1 for head 2.
  for (const std::string numbers : {"[0.5, 2]", "[[0.5, 2]]", "[[[0.5]], [[2]]]"}) {
    INFO(numbers);
    CHECK(made(two_heads("alibi", numbers), "d_numbers") == std::vector<double>{0, -2});
  }
  const auto sinks = made(two_heads("softmax", "[0.5, 2]"), "d_numbers");
  CHECK(sinks[0] != Approx(sinks[1]));
  for (const std::string numbers : {"[[0.5], [2]]", "[[[0.5]], [[2]]]"}) {
    CHECK(made(two_heads("softmax", numbers), "d_numbers") == sinks);
  }
}

}  // namespace trace_backward_tests
