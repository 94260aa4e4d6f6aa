#include "render/checked.hpp"

#include <catch2/catch.hpp>

#include "check/submissions.hpp"

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

Task turned_matrix() {
  return Task(
      "title = \"t\"\n[[given]]\nname = \"A\"\nvalue = [[1, 2], [3, 4.5]]\n"
      "[[step]]\nname = \"turned\"\nop = \"transpose\"\nof = [\"A\"]\n");
}

}  // namespace

TEST_CASE("a long sum in a report of a check loses its middle") {
  const Task task = long_sum(500);
  const CheckReport report = checked(task, {{"product", "3001"}});
  CHECK_THAT(checked_text(report, {}),
             Contains("From your numbers: 2·3 + 2·3 + 2·3 +\n    … 496 more … + 2·3 = 3000.\n"));
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
  const CheckReport report = checked(turned_matrix(), {{"turned", "1,3\n7,4.5"}});
  CHECK_THAT(checked_text(report, {}),
             Contains("turned[2,1] is 7. From your numbers: A[1,2] = 2.\n"));
}

TEST_CASE("what is wrong stands before the grid that says where") {
  const CheckReport report = checked(long_sum(8), {{"product", "49"}});
  const std::string text = checked_text(report, {});
  CHECK(text.find("First wrong cell") < text.find("49✗"));
}

TEST_CASE("a report says how much is still blank") {
  CHECK_THAT(checked_text(checked(turned_matrix(), {{"turned", "1,\n2,"}}), {}),
             Contains("Still blank: 2 of 4 cells."));
}

TEST_CASE("marks count what was worked out and not what was copied") {
  const Task task = turned_matrix();
  const CheckReport report = checked(task, {{"A", "1,2\n3,8.1"}, {"turned", "1,3\n2,8.1"}});
  CHECK(checked_line({"ann", report, ""}, task.trace) ==
        "ann: wrong at A, 4 of 4 cells\n");
}
