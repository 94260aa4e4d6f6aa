#include "verdicts/verdicts.hpp"

#include <catch2/catch.hpp>

#include "check/submissions.hpp"

namespace verdicts_checked_tests {

namespace {

using namespace qkv;
using namespace qkv::test;
using Catch::Matchers::Contains;

std::string many(const std::string& one, int times, const std::string& between) {
  std::string text = one;
  for (int i = 1; i < times; ++i) text += between + one;
  return text;
}

// A row of d twos times a column of d threes: 6d.
Task long_sum(int d) {
  return Task("title = \"t\"\n[[given]]\nname = \"A\"\nvalue = [[" + many("2", d, ",") +
              "]]\n[[given]]\nname = \"B\"\nvalue = [[" + many("3", d, "],[") +
              "]]\n[[step]]\nname = \"product\"\nop = \"matmul\"\nof = [\"A\", \"B\"]\n");
}

Task transposed_matrix() {
  return Task(
      "title = \"t\"\n[[given]]\nname = \"A\"\nvalue = [[1, 2], [3, 4.5]]\n"
      "[[step]]\nname = \"turned\"\nop = \"transpose\"\nof = [\"A\"]\n");
}

TEST_CASE("a number that was written is shown with the digits that a double holds of it") {
  CHECK(learner_number(9.7, 16) == "9.7");
  CHECK(learner_number(0.148, 3) == "0.148");
  CHECK(learner_number(-123.456, 17) == "-123.456");
  CHECK(learner_number(0, 16) == "0");
}

}  // namespace

TEST_CASE("a long sum in a report of a check loses its middle") {
  const Task task = long_sum(500);
  const CheckReport report = checked(task, {{"product", "3001"}});
  CHECK_THAT(checked_text(report, {}),
             Contains("From your numbers:\n    2·3 + 2·3 + 2·3 + … 496 more … + 2·3 = 3000.\n"));
  CHECK_THAT(checked_json({{"there", report, ""}}, task.lesson, Answers::shown),
             Contains("\"arithmetic\": \"2·3 + 2·3 + 2·3 + … 496 more … + 2·3 = 3000\""));
}

TEST_CASE("a sum of eight terms is written in full") {
  const CheckReport report = checked(long_sum(8), {{"product", "49"}});
  CHECK_THAT(checked_json({{"there", report, ""}}, long_sum(8).lesson, Answers::shown),
             Contains("\"2·3 + 2·3 + 2·3 + 2·3 + 2·3 + 2·3 + 2·3 + 2·3 = 48\""));
}

TEST_CASE("where the arithmetic takes too many lines a report says who shows it") {
  const Task task = long_sum(500);
  const CheckReport report = checked(task, {{"product", "3001"}});
  // Six lines of five columns.
  CHECK_THAT(checked_text(report, {.width = 9, .lesson = "own"}),
             Contains("3000") && Contains("qkv") && Contains("own") && !Contains("more"));
}

TEST_CASE("where a number only moves a report says from where") {
  const CheckReport report = checked(transposed_matrix(), {{"turned", "1,3\n7,4.5"}});
  CHECK_THAT(checked_text(report, {}),
             Contains("turned[2,1] is 7. From your numbers: A[1,2] = 2.\n"));
}

TEST_CASE("a number that only moves is told with as many decimals as were written") {
  const Task task(
      "title = \"t\"\n[[given]]\nname = \"A\"\nvalue = [[1, 2], [3, 4.567]]\n"
      "[[step]]\nname = \"turned\"\nop = \"transpose\"\nof = [\"A\"]\n");
  const CheckReport report = checked(task, {{"turned", "1,3\n2,7.1"}});
  CHECK_THAT(checked_text(report, {}), Contains("From your numbers: A[2,2] = 4.6.\n"));
}

TEST_CASE("what is wrong stands before the grid that says where") {
  const CheckReport report = checked(long_sum(8), {{"product", "49"}});
  const std::string text = checked_text(report, {});
  REQUIRE_THAT(text, Contains("First wrong cell") && Contains("49✗"));
  CHECK(text.find("First wrong cell") < text.find("49✗"));
}

TEST_CASE("of a large matrix the lines with something wrong are shown") {
  std::string ones, work;
  for (int i = 0; i < 50; ++i) {
    ones += (i > 0 ? ",[" : "[") + many("1", 60, ",") + "]";
    work += many("1", 58, ",") + (i < 40 ? ",1,1\n" : ",1,7\n");
  }
  const Task task("title = \"t\"\n[[given]]\nname = \"A\"\nvalue = [" + ones +
                  "]\n[[step]]\nname = \"same\"\nop = \"relu\"\nof = [\"A\"]\n");
  const std::string text =
      checked_text(checked(task, {{"same", work}}), {.width = 40, .detail = Detail::all});
  CHECK_THAT(text, Contains("60\n") && Contains("41 ") && Contains("50 ") &&
                       Contains("26 rows not shown") && !Contains("wrong cells not shown"));
}

TEST_CASE("a report says how much is still blank") {
  CHECK_THAT(checked_text(checked(transposed_matrix(), {{"turned", "1,\n2,"}}), {}),
             Contains("still blank: 2 cells: turned (2 of 4)\n"));
}

TEST_CASE("the last line states no mistake as a fact that is not sure") {
  CheckReport report = checked(transposed_matrix(), {{"turned", "1,9\n2,4"}});
  report.steps.front().mistakes = {
      {.id = "slip.sign", .says = "The sign is wrong.", .hint = "", .cells = 1, .sure = false}};
  const std::string text = checked_text(report, {});
  CHECK_THAT(text, Contains("it could be: The sign is wrong\n(slip.sign)"));
  CHECK_THAT(text, !Contains("(slip.sign): The sign is wrong."));
}

TEST_CASE("a new worksheet for a part is not right so far, and an unread file comes first") {
  CheckReport report = checked(transposed_matrix(), {{"turned", "1,\n,"}});
  CHECK_THAT(checked_text(report, {}), Contains("nothing is wrong so far"));
  report.steps.front().verdict = Verdict::blank;
  report.steps.front().left_out = 1;
  report.unreadable = {"a.csv: it is empty"};
  const std::string text = checked_text(report, {.width = 200});
  CHECK_THAT(text, Contains("work: 1 file could not be read; incomplete; no matrix is filled in"));
}

TEST_CASE("no tolerance is stated where an exact cell was refused") {
  const CheckReport report = checked(transposed_matrix(), {{"turned", "1,3\n2,4.6"}});
  CHECK_THAT(checked_text(report, {}),
             Contains("it must be") && !Contains("a cell is right within"));
}

TEST_CASE("a text says how to write it, and no mistake is sought behind it") {
  const Task task(
      "title = \"t\"\n[[given]]\nname = \"S\"\nvalue = [[1.5, 2.5], [3.5, 4.5]]\n"
      "[[step]]\nname = \"M\"\nop = \"mask\"\nof = [\"S\"]\nkind = \"causal\"\n");
  const std::string text =
      checked_text(checked(task, {{"M", "1.5,minus infinity\n3.5,4.5\n"}}), {});
  CHECK_THAT(text, Contains("which is not a number. Write\n    -inf."));
  CHECK_THAT(text, !Contains("nown mistake"));
  const std::string root = checked_text(checked(task, {{"M", "1.5,-inf\n2sqrt3,4.5\n"}}), {});
  CHECK_THAT(root, Contains("write a root\n    like √2"));
}

TEST_CASE("what rests on a cell that was copied wrong earns nothing") {
  const Task task = transposed_matrix();
  const CheckReport report = checked(task, {{"A", "1,2\n3,8.1"}, {"turned", "1,3\n2,8.1"}});
  CHECK(checked_line({"ann", report, ""}, {task.lesson, task.trace}) ==
        "ann: wrong at A, 3 of 4 marks\n");
}

}  // namespace verdicts_checked_tests
