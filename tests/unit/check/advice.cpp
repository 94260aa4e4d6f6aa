#include "check/grading/advice.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "trace/trace.hpp"

namespace check_advice_tests {

namespace {

using namespace qkv;

Lesson lesson_of(const std::string& toml) {
  ParsedLesson reading = read_lesson(toml, "lesson.toml", {});
  REQUIRE(reading.faults.empty());
  return reading.lesson;
}

std::string text_of(const std::vector<Fault>& faults) {
  std::string text;
  for (const Fault& fault : faults) {
    text += std::to_string(fault.place.line) + ": " + fault.message + "\n";
  }
  return text;
}

std::string hidden_in(const std::string& toml) {
  const Lesson lesson = lesson_of(toml);
  return text_of(undetectable_mistakes(lesson, evaluate(lesson.recipe)));
}

std::string long_in(const std::string& toml) {
  const Lesson lesson = lesson_of(toml);
  return text_of(long_numbers(lesson, evaluate(lesson.recipe)));
}

bool by_hand(const std::string& toml) { return is_for_hand_work(evaluate(lesson_of(toml).recipe)); }

// X · W with W as given.
std::string projection(const std::string& w) {
  return "[[given]]\nname = \"X\"\nvalue = [[1, 0], [0, 2]]\n"
         "[[given]]\nname = \"W\"\nvalue = " +
         w + "\n[[step]]\nname = \"Q\"\nop = \"project\"\nof = [\"X\", \"W\"]\n";
}

}  // namespace

TEST_CASE("a symmetric weight hides that it was turned, and other numbers would show it") {
  CHECK(hidden_in(projection("[[1, 3], [3, 2]]")) ==
        "8: with a mistake (project.transposed-weight) Q comes out the same; other numbers would "
        "show "
        "it\n");
  CHECK(hidden_in(projection("[[1, 3], [0, 2]]")).empty());
}

TEST_CASE("a d_k that equals d_model hides which of them was divided by") {
  CHECK(hidden_in(R"([[given]]
name = "X"
value = [[1, 2], [0, 3]]
[[given]]
name = "W_Q"
value = [[1, 3], [0, 2]]
[[given]]
name = "W_K"
value = [[1, 1], [0, 2]]
[[step]]
name = "Q"
op = "project"
of = ["X", "W_Q"]
[[step]]
name = "K"
op = "project"
of = ["X", "W_K"]
[[step]]
name = "scores"
op = "score"
of = ["Q", "K"]
[[step]]
name = "scaled_scores"
op = "scale"
of = ["scores"]
)") == "23: with a mistake (scale.by-sqrt-d-model, scale.by-sqrt-n) scaled_scores comes out the "
       "same; "
       "other sizes would show it\n");
}

TEST_CASE("a matrix scored with itself has no wrong way round, and nothing is said of it") {
  CHECK(hidden_in(R"([[given]]
name = "X"
value = [[1, 2], [0, 3]]
[[step]]
name = "scores"
op = "score"
of = ["X", "X"]
)")
            .empty());
}

TEST_CASE("a number with many digits is told among short ones") {
  CHECK(long_in(projection("[[1, 0.333], [12, 0.25]]")) ==
        "5: W[1,2] is 0.333: slow by hand; whole numbers and halves are faster\n");
  CHECK(long_in(projection("[[1, 0.333], [123, 0.25]]")) ==
        "5: W[1,2] is 0.333 (and 1 more): slow by hand; whole numbers and halves are faster\n");
  CHECK(long_in(projection("[[1, -0.25], [12, 99]]")).empty());
}

TEST_CASE("a lesson is for hand work if its steps are small and most of its numbers short") {
  CHECK(by_hand(projection("[[1, 0.333], [12, 0.25]]")));
  CHECK_FALSE(by_hand(projection("[[0.123, 0.333], [0.456, 0.789]]")));
  CHECK_FALSE(
      by_hand("[[given]]\nname = \"X\"\nones = [9, 9]\n"
              "[[step]]\nname = \"Y\"\nop = \"relu\"\nof = \"X\"\n"));
}

TEST_CASE("a lesson of one query hears nothing of what only more rows would show") {
  const std::string one_row =
      "[[given]]\nname = \"Q\"\nvalue = [[1, 2, 0, 1]]\n"
      "[[step]]\nname = \"Q_rope\"\nop = \"rope\"\nof = [\"Q\"]\n"
      "[[step]]\nname = \"A\"\nop = \"softmax\"\nof = [\"Q_rope\"]\n";
  CHECK(hidden_in(one_row) == "");
}

}  // namespace check_advice_tests
