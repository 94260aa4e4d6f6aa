#include "exposition/exposition.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "lesson/lesson.hpp"
#include "trace/trace.hpp"

namespace exposition_changes_tests {

namespace {

using namespace qkv;

// relu of X, so that X shows through, with these rows and tokens.
Trace trace_of(const std::string& x, const std::string& tokens = R"(["cat", "mat"])") {
  const ParsedLesson reading =
      read_lesson("tokens = " + tokens + "\n[[given]]\nname = \"X\"\nvalue = " + x +
                      "\n[[step]]\nname = \"Y\"\nop = \"relu\"\nof = \"X\"\n",
                  "test.toml", {});
  REQUIRE(reading.faults.empty());
  return evaluate(reading.lesson.recipe);
}

std::string changes(const Trace& now, const Trace& before) {
  return changes_text(now.step_at("Y"), before, 4);
}

}  // namespace

TEST_CASE("changed cells are listed with what they were") {
  CHECK(changes(trace_of("[[1, 5], [3, 4]]"), trace_of("[[1, 2], [3, 4]]")) ==
        "changed: 1 of 4 cells: [cat,2] 2 → 5");
  CHECK(changes(trace_of("[[1, 2], [3, 4]]"), trace_of("[[1, 2], [3, 4]]")) ==
        "changed: nothing; all numbers are the lesson's");
}

TEST_CASE("a change has decimals enough to be seen") {
  CHECK(changes(trace_of("[[1.000002, 0.5], [3, 4]]"), trace_of("[[1, 0.25], [3, 4]]")) ==
        "changed: 2 of 4 cells: [cat,1] 1 → 1.000002, [cat,2] 0.25 → 0.5");
}

TEST_CASE("a long list of changes ends after six") {
  CHECK(
      changes(trace_of("[[2, 3, 4, 5], [6, 7, 8, 9]]"), trace_of("[[1, 2, 3, 4], [5, 6, 7, 8]]")) ==
      "changed: 8 of 8 cells: [cat,1] 1 → 2, [cat,2] 2 → 3, [cat,3] 3 → 4, [cat,4] 4 → 5, "
      "[mat,1] 5 → 6, [mat,2] 6 → 7, …");
}

TEST_CASE("what has another size or other words is not compared cell by cell") {
  CHECK(changes(trace_of("[[1, 2, 3], [4, 5, 6]]"), trace_of("[[1, 2], [3, 4]]")) ==
        "changed: 2×3 here, 2×2 in the lesson");
  CHECK(changes(trace_of("[[1, 2], [3, 4]]", R"(["cat", "dog"])"), trace_of("[[1, 2], [3, 4]]")) ==
        "changed: the words are not the lesson's");
}

}  // namespace exposition_changes_tests
