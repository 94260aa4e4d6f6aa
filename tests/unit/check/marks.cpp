#include "check/grading/marks.hpp"

#include <catch2/catch.hpp>

#include "check/submissions.hpp"

namespace check_marks_tests {

namespace {

using namespace qkv;
using namespace qkv::test;

// P = X·A = [[1, 3], [4, 2]], Y = 2 P; M hides one cell of Y, so three of its cells count, 2 each.
const Task& masked() {
  static const Task task(
      "title = \"t\"\n[[given]]\nname = \"X\"\nvalue = [[1, 0], [0, 2]]\n"
      "[[given]]\nname = \"A\"\nvalue = [[1, 3], [2, 1]]\n"
      "[[step]]\nname = \"P\"\nop = \"matmul\"\nof = [\"X\", \"A\"]\n"
      "[[step]]\nname = \"Y\"\nop = \"add\"\nof = [\"P\", \"P\"]\n"
      "[[step]]\nname = \"M\"\nop = \"mask\"\nof = [\"Y\"]\nmarks = 6\n");
  return task;
}

const Texts right_until_mask = {{"P", "1,3\n4,2\n"}, {"Y", "2,6\n8,4\n"}};

Texts with_mask(const std::string& text) {
  Texts texts = right_until_mask;
  texts["M"] = text;
  return texts;
}

Marks marks_of(const Texts& texts, const CellShares& shares = {}) {
  return Rubric(masked().lesson, masked().trace, shares).of(checked(masked(), texts));
}

}  // namespace

TEST_CASE("a hidden cell counts only where it is wrong") {
  CHECK(marks_of(with_mask("2,-inf\n8,4\n")).steps[2].marks == 6);
  CHECK(marks_of(with_mask("2,\n8,4\n")).steps[2].marks == 6);
  // Three of four cells are right.
  CHECK(marks_of(with_mask("2,6\n8,4\n")).steps[2].marks == 4.5);
  CHECK(marks_of(with_mask("2,0\n8,4\n")).steps[2].marks == 4.5);
  // -1e9 is a convention.
  CHECK(marks_of(with_mask("2,-1e9\n8,4\n")).steps[2].marks == 6);
}

TEST_CASE("a 0 made of zeros earns its mark on a correct sheet alone") {
  const Task task(R"(
title = "t"
[[given]]
name = "S"
value = [[7.8, 0], [0, 1]]
[[given]]
name = "V"
value = [[1, 0], [1, 5]]
[[step]]
name = "A"
op = "softmax"
of = ["S"]
[[step]]
name = "C"
op = "weighted_sum"
of = ["A", "V"]
)");
  // softmax(7.8, 0) is 0.9996 and 0.0004, so C[1,2] is 0.002; 0.000 follows from the written 0.000.
  const auto marks_of = [&](const std::string& last) {
    const Texts texts = {{"A", "1.000,0.000\n0.269,0.731\n"}, {"C", "1.000,0.000\n1.000," + last}};
    return Rubric(task.lesson, task.trace).of(checked(task, texts)).total.marks;
  };
  CHECK(marks_of("3.655\n") == 8);
  CHECK(marks_of("9.999\n") == 6);
}

TEST_CASE("an undecided cell earns nothing") {
  CheckReport report = checked(masked(), right_until_mask);
  report.steps[1].verdicts[0] = Verdict::undecided;
  report.steps[1].cells = {.correct = 3, .undecided = 1};
  const Marks marks = Rubric(masked().lesson, masked().trace).of(report);
  CHECK(marks.steps[0].marks == 4);
  CHECK(marks.steps[1].marks == 3);
}

namespace {

// Four ids, which pick their rows of a table.
const Task& embedded() {
  static const Task task(
      "title = \"t\"\n[[given]]\nname = \"ids\"\nvalue = [0, 3, 1, 4]\n"
      "[[given]]\nname = \"E\"\nvalue = [[1, 5], [2, 7], [9, 4], [6, 3], [8, 2], [5, 9]]\n"
      "[[step]]\nname = \"X\"\nop = \"embed\"\nof = [\"ids\", \"E\"]\n"
      "[[step]]\nname = \"Y\"\nop = \"add\"\nof = [\"X\", \"X\"]\n");
  return task;
}

}  // namespace

TEST_CASE("a mistake that may explain half of a neighbour's ids earns nothing behind them") {
  // The neighbour's ids are 1, 0, 2, 3: two of them are the learner's and one more.
  const Texts theirs = {{"X", "2,7\n1,5\n9,4\n6,3\n"}, {"Y", "4,14\n2,10\n18,8\n12,6\n"}};
  const Marks marks = Rubric(embedded().lesson, embedded().trace).of(checked(embedded(), theirs));
  CHECK(marks.steps[0].marks == 0);
  CHECK(marks.steps[1].marks == 0);
}

TEST_CASE("two wrong rows of a table, or two mistakes in one step, leave what follows its marks") {
  const Texts rows = {{"X", "1,5\n9,4\n5,9\n8,2\n"}, {"Y", "2,10\n18,8\n10,18\n16,4\n"}};
  CHECK(Rubric(embedded().lesson, embedded().trace).of(checked(embedded(), rows)).steps[1].marks ==
        8);

  const Task scored(
      "title = \"t\"\n[[given]]\nname = \"Q\"\nvalue = [[1, 3], [4, 2]]\n"
      "[[given]]\nname = \"K\"\nvalue = [[7, 6], [5, 11]]\n"
      "[[step]]\nname = \"S\"\nop = \"score\"\nof = [\"Q\", \"K\"]\n"
      "[[step]]\nname = \"Y\"\nop = \"add\"\nof = [\"S\", \"S\"]\n");
  // The first row is that of Q·Qᵀ, the second that of K·Qᵀ.
  const Texts halves = {{"S", "10,10\n38,42\n"}, {"Y", "20,20\n76,84\n"}};
  CHECK(Rubric(scored.lesson, scored.trace).of(checked(scored, halves)).steps[1].marks == 4);
}

TEST_CASE("a carried weight of 0 earns its mark, also where its power is too small for a double") {
  const Task task(
      "title = \"t\"\n[[given]]\nname = \"S\"\nvalue = [[2, 4], [6, 2]]\n"
      "[[step]]\nname = \"T\"\nop = \"scale\"\nof = [\"S\"]\nby = 2\n"
      "[[step]]\nname = \"A\"\nop = \"softmax\"\nof = [\"T\"]\n");
  const Texts slip = {{"T", "1,2000\n3,1\n"}, {"A", "0,1\n0.881,0.119\n"}};
  CHECK(Rubric(task.lesson, task.trace).of(checked(task, slip)).steps[1].marks == 4);
}

TEST_CASE("what an unexplained step takes away is known, and may be given in part") {
  const Texts texts = {{"P", "7.3,11.9\n5.7,13.1\n"},
                       {"Y", "14.6,23.8\n11.4,26.2\n"},
                       {"M", "14.6,-inf\n11.4,26.2\n"}};
  const Marks none = marks_of(texts);
  CHECK(none.unexplained == std::vector<std::string>{"P"});
  CHECK(none.total.marks == 0);
  CHECK(none.taken == 10);  // 4 of Y and 6 of M, all carried
  const Marks half = marks_of(texts, {.unexplained = 0.5});
  CHECK(half.total.marks == 5);
  CHECK(half.taken == 5);
  // A fifth of each carried cell, half of that given.
  CHECK(marks_of(texts, {.carried = 0.2, .unexplained = 0.5}).total.marks == Approx(1));
}

TEST_CASE("what depends on a changed given earns no share") {
  // Column 2 of P, Y and M depends on the changed cell.
  const Texts texts = {{"A", "1,3\n2,2.5\n"}, {"P", "1,3\n4,5\n"}, {"Y", "2,6\n8,10\n"}};
  const Marks marks = marks_of(texts, {.unexplained = 1});
  CHECK(marks.changed == std::vector<std::string>{"A"});
  CHECK(marks.steps[1].marks == 2);
  CHECK(marks.taken == 0);
}

// Numbers drawn from 0 to 1: three cells of S fit swapped rows, and one a dropped term.
TEST_CASE("slips that may fit noise by chance earn nothing for what follows") {
  const Task task(
      "title = \"t\"\n[[given]]\nname = \"A\"\n"
      "value = [[-0.3, -0.2], [-1.6, -0.6], [1.4, 1.2], [-0.6, 0.9]]\n"
      "[[given]]\nname = \"W\"\nvalue = [[1.67, 0.01], [-0.8, -1.06]]\n"
      "[[step]]\nname = \"S\"\nop = \"sigmoid\"\nof = [\"A\"]\n"
      "[[step]]\nname = \"G\"\nop = \"gelu\"\nof = [\"S\"]\nform = \"erf\"\n"
      "[[step]]\nname = \"C\"\nop = \"matmul\"\nof = [\"G\", \"W\"]\n");
  const CheckReport report = checked(task, {{"S", "0.4,0.4\n0.2,0.8\n1.0,0.8\n0.2,0.4\n"},
                                            {"G", "0.8,0.9\n0.1,0.6\n0.2,0.9\n0.9,0.4\n"},
                                            {"C", "0.7,0.5\n0.3,1.0\n0.5,0.4\n1.0,0.0\n"}});
  CHECK(Rubric(task.lesson, task.trace).of(report).total.marks == 0);
}

}  // namespace check_marks_tests
