#include "interactive/quiz.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>

#include "check/check.hpp"
#include "ops/operation.hpp"
#include "text/strings.hpp"
#include "tiny.hpp"

namespace interactive_quiz_tests {

using namespace qkv;
using namespace qkv::test;

namespace {

AnswerReport judged(const std::string& cell, const std::string& answer) {
  const LoadedLesson lesson = tiny();
  const CellReference reference = resolve(parse_reference(cell), lesson.trace);
  return judge_answer(lesson.trace, reference, parse_answer(answer), 4);
}

std::string refused(const std::string& answer) {
  try {
    parse_answer(answer);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

bool names(const AnswerReport& report, std::string_view id) {
  return std::any_of(report.mistakes.begin(), report.mistakes.end(),
                     [&](const Diagnosis& d) { return d.id == id; });
}

}  // namespace

TEST_CASE("an answer may have a decimal comma, be a fraction or minus infinity") {
  CHECK(parse_answer("0,25").value == 0.25);
  CHECK(parse_answer(" 3/8 ").value == 0.375);
  CHECK(parse_answer("-inf").value == -std::numeric_limits<double>::infinity());
  CHECK(parse_answer("−2.5").value == -2.5);
}

TEST_CASE("an answer may be whatever a cell may be") {
  CHECK(parse_answer("√2").value == Approx(1.4142135623730951));
  CHECK(parse_answer("-3/√2").value == Approx(-2.1213203435596424));
  CHECK(parse_answer("80%").value == 0.8);
  CHECK(judged("halves[cat,cat]", "250%").verdict == Verdict::correct);
  CHECK(judged("halves[cat,cat]", "√25/2").verdict == Verdict::correct);
}

TEST_CASE("a fraction of rounded numbers is as precise as they are") {
  CHECK(parse_answer("0.5/1.41").decimals == 2);
  CHECK(parse_answer("1/3").decimals == 15);
}

TEST_CASE("what is not a number is refused with examples of what is") {
  CHECK(refused("two") ==
        "\"two\" is not a number: write it like 0.25, 0,25, 3/7, √2, 80%, 2.5e-3 or -inf");
  CHECK(refused("1/0").starts_with("\"1/0\" is not a number"));
  CHECK(refused("1.5,2").starts_with("\"1.5,2\" is not a number"));
  CHECK(refused("nan").starts_with("\"nan\" is not a number"));
}

TEST_CASE("an answer with nothing to round is right or not") {
  CHECK(judged("halves[cat,cat]", "2.5").verdict == Verdict::correct);
  CHECK(judged("halves[cat,cat]", "5/2").verdict == Verdict::correct);
  CHECK(judged("halves[cat,cat]", "2.6").verdict == Verdict::wrong);
  CHECK(judged("halves[cat,cat]", "2.7").verdict == Verdict::wrong);
  CHECK(judged("halves[cat,cat]", "2.52").verdict == Verdict::wrong);
}

TEST_CASE("whole numbers are judged exactly") {
  CHECK(judged("scores[cat,cat]", "5").verdict == Verdict::correct);
  CHECK(judged("scores[cat,cat]", "6").verdict == Verdict::wrong);
}

TEST_CASE("the mistake that makes the number is named") {
  // X·X instead of X·Xᵀ is (1 0; 3 4).
  CHECK(names(judged("scores[cat,cat]", "4"), "score.not-transposed"));
  CHECK(names(judged("halves[cat,cat]", "5"), "scale.skipped"));
  CHECK(names(judged("halves[cat,cat]", "10"), "scale.multiplied"));
  CHECK(judged("halves[cat,cat]", "77.125").mistakes.empty());
}

TEST_CASE("one number that is off says nothing of a bias") {
  const LoadedLesson lesson = loaded(
      "[[given]]\nname = \"X\"\nvalue = [[1, 2], [3, 4], [5, 7]]\n"
      "[[given]]\nname = \"W\"\nvalue = [[2, 3], [5, 7]]\n"
      "[[step]]\nname = \"Y\"\nop = \"project\"\nof = [\"X\", \"W\"]\n");
  const CellReference cell = resolve(parse_reference("Y[1,1]"), lesson.trace);  // 12
  CHECK_FALSE(
      names(judge_answer(lesson.trace, cell, parse_answer("77.125"), 4), "project.unknown-offset"));
}

TEST_CASE("a question is never about 0, 1, or what is taken over as it is") {
  const LoadedLesson lesson = tiny();
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    const auto cell = question_cell(lesson.trace, lesson.trace.steps[0], seed);
    REQUIRE(cell);
    CHECK((cell->row == 1 && cell->column == 1));
  }
  const LoadedLesson looked_up = loaded(
      "[[given]]\nname = \"ids\"\nvalue = [1, 0]\n"
      "[[given]]\nname = \"table\"\nvalue = [[3, 4], [5, 6]]\n"
      "[[step]]\nname = \"E\"\nop = \"embed\"\nof = [\"ids\", \"table\"]\n");
  CHECK_FALSE(question_cell(looked_up.trace, looked_up.trace.steps[0], 0));
}

TEST_CASE("of a mask it is asked what is hidden and what is kept, of its weights no 0 or 1") {
  const LoadedLesson masked = loaded(
      "[[given]]\nname = \"S\"\nvalue = [[2, 3], [4, 5]]\n"
      "[[step]]\nname = \"M\"\nop = \"mask\"\nof = [\"S\"]\nkind = \"causal\"\n"
      "[[step]]\nname = \"A\"\nop = \"softmax\"\nof = [\"M\"]\n");
  std::size_t hidden = 0;
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    const auto cell = question_cell(masked.trace, masked.trace.steps[0], seed);
    hidden += cell->row == 0 && cell->column == 1 ? 1 : 0;
    // The first row of A is 1 and 0: only the second is left.
    CHECK(question_cell(masked.trace, masked.trace.steps[1], seed)->row == 1);
  }
  CHECK(hidden > 0);
  CHECK(hidden < 40);
}

TEST_CASE("where one head is shown, the question is about that head") {
  const LoadedLesson heads = loaded(
      "[[given]]\nname = \"X\"\nvalue = [[2, 3], [4, 5]]\n"
      "[[given]]\nname = \"W\"\nvalue = [[[2, 3], [5, 7]], [[3, 5], [7, 2]]]\n"
      "[[step]]\nname = \"Q\"\nop = \"project\"\nof = [\"X\", \"W\"]\n");
  for (std::uint32_t seed = 0; seed < 10; ++seed) {
    CHECK(question_cell(heads.trace, heads.trace.steps[0], seed, 1)->matrix == 1);
  }
}

TEST_CASE("joined heads are asked for, split ones are not") {
  const LoadedLesson heads = loaded(
      "[[given]]\nname = \"X\"\nvalue = [[2, 3, 4, 5]]\n"
      "[[step]]\nname = \"S\"\nop = \"split_heads\"\nof = [\"X\"]\nheads = 2\n"
      "[[step]]\nname = \"C\"\nop = \"concat_heads\"\nof = [\"S\"]\n");
  CHECK_FALSE(question_cell(heads.trace, heads.trace.steps[0], 0));
  CHECK(question_cell(heads.trace, heads.trace.steps[1], 0));
}

TEST_CASE("a question names its cell in words, and the first says how to answer") {
  const LoadedLesson lesson = loaded(
      "tokens = [\"the\", \"cat\", \"the\"]\n"
      "[[given]]\nname = \"A\"\nvalue = [[[0], [0], [2]], [[0], [0], [3]]]\n"
      "[[step]]\nname = \"S\"\nop = \"score\"\nof = [\"A\", \"A\"]\n");
  const Walkthrough walk = walkthrough(lesson, {0, 0}, {});
  Quiz quiz(0);
  REQUIRE(quiz.ask(walk));
  const std::string question = quiz.question(walk, {.rows = 30, .columns = 80});
  CHECK(question.find("what is row 3 (the), column 3 (the) of S, head ") != std::string::npos);
  CHECK(question.find("A quiz: ") != std::string::npos);
  quiz.answer(walk, "77");
  CHECK(quiz.question(walk, {.rows = 30, .columns = 80}).find("A quiz") == std::string::npos);
}

TEST_CASE("a product of hundreds of terms is nothing to ask for") {
  const LoadedLesson wide = loaded(
      "[random]\nseed = 1\n[[given]]\nname = \"A\"\nrandn = [3, 200]\n"
      "[[step]]\nname = \"S\"\nop = \"score\"\nof = [\"A\", \"A\"]\n");
  CHECK_FALSE(question_cell(wide.trace, wide.trace.steps[0], 0));
}

TEST_CASE("a second try at a hidden cell does not show the answer") {
  const Walkthrough walk = walkthrough(
      loaded("[[given]]\nname = \"S\"\nvalue = [[2, 3], [4, 5]]\n"
             "[[step]]\nname = \"M\"\nop = \"mask\"\nof = [\"S\"]\nkind = \"causal\"\n"),
      {0, 0}, {});
  for (std::uint32_t seed = 0; seed < 9; ++seed) {
    Quiz quiz(seed);
    REQUIRE(quiz.ask(walk));
    const std::string again = quiz.answer(walk, "77").message;
    CHECK(again.find("Once more: M[") != again.npos);
    CHECK(again.find("inf") == again.npos);
  }
}

TEST_CASE("who missed the mask is sent to the lesson on minus infinity") {
  const auto lesson = lesson_about(mask_operation, find_lesson("the-fat-cat").lesson);
  CHECK(lesson == "causal");
}

TEST_CASE("a quiz counts what was right at the first and at the second try") {
  const Walkthrough walk = tiny_walk();
  Quiz quiz(0);
  REQUIRE(quiz.ask(walk));
  quiz.answer(walk, "4");
  CHECK(quiz.is_open());
  CHECK(quiz.answer(walk, "5").message == "Right: scores[cat,cat] = 5.");
  CHECK_FALSE(quiz.is_open());
  CHECK_FALSE(quiz.ask(walk));  // once is enough
  CHECK(quiz.summary(walk, 80) ==
        "1 of 1 right\n"
        "  scores[cat,cat]  right at the second try\n"
        "\n"
        "Other cells: qkv run tiny.toml --quiz --seed 1\n");
  const std::string narrow = quiz.summary(walk, 20);  // nothing of it is cut
  CHECK(narrow.starts_with("1 of 1 right\n  scores[cat,cat]\n    right at the second try\n"));
}

TEST_CASE(
    "one number proves little: where several mistakes make it, each is one that it could be") {
  const Walkthrough walk = tiny_walk();
  Quiz quiz(0);
  REQUIRE(quiz.ask(walk));
  CHECK(quiz.answer(walk, "4").message.starts_with("Not 4.\nOnce more:"));  // one digit: of nobody
  const std::string message = quiz.answer(walk, "4.0").message;
  CHECK(quiz.summary(walk, 80).find("multiplied") == std::string::npos);
  CHECK(message.find("It could be: ") != message.npos);
  CHECK(message.find("A known mistake makes") == message.npos);
}

TEST_CASE("who missed a step is sent to the lesson that explains it") {
  const Lesson lesson = find_lesson("the-fat-cat").lesson;
  CHECK(lesson_about(scale_operation, lesson) == "why-scale");
  CHECK(lesson_about(project_operation, lesson) == "projections");
  CHECK(lesson_about(weighted_sum_operation, lesson) == "token-mixing");
  CHECK_FALSE(lesson_about(scale_operation, find_lesson("why-scale").lesson));
}

TEST_CASE("what is no number costs no try") {
  const Walkthrough walk = tiny_walk();
  Quiz quiz(0);
  quiz.ask(walk);
  for (int i = 0; i < 5; ++i) quiz.answer(walk, "hm");
  CHECK(quiz.is_open());
}

TEST_CASE("a question shows every number that is needed, in a narrow window, too") {
  const LoadedLesson lesson = loaded(
      "[[given]]\nname = \"A\"\nvalue = [[11.5, 12.5, 13.5, 14.5, 15.5, 16.5, 17.5]]\n"
      "[[step]]\nname = \"S\"\nop = \"score\"\nof = [\"A\", \"A\"]\n");
  const Walkthrough walk = walkthrough(lesson, {0, 0}, {});
  Quiz quiz(0);
  REQUIRE(quiz.ask(walk));
  const std::string narrow = quiz.question(walk, {.rows = 20, .columns = 40});
  CHECK(narrow.find("A[1,7] = 17.5") != std::string::npos);
  const std::string wide = quiz.question(walk, {.rows = 20, .columns = 80});
  CHECK(wide.find("A[1,7]") == std::string::npos);
  CHECK(wide.find("17.5") != std::string::npos);
}

}  // namespace interactive_quiz_tests
