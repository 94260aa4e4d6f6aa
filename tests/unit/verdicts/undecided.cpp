#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "check/submissions.hpp"
#include "verdicts/verdicts.hpp"

namespace verdicts_undecided_tests {

/// What is shown of cells that rounding leaves open, and of the tolerance that was used.
namespace {

using namespace qkv;
using namespace qkv::test;
using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;

// As if rounding alone could move the context by 0.9.
StepReport undecided(StepReport step) {
  step.verdict = Verdict::undecided;
  step.verdicts.assign(4, Verdict::undecided);
  step.cells = {.undecided = 4};
  step.room = 0.9;
  step.decided_by = {"Q", "K"};
  return step;
}

CheckReport undecided_report() {
  CheckReport report =
      checked(two_words(), {{"V", "4,10\n7,5\n"}, {"context", "4.00,9.99\n6.97,5.05\n"}});
  REQUIRE(report.steps.size() == 2);
  report.submission = "work";
  report.outcome = Outcome::undecided;
  report.first_wrong = {};
  report.steps[1] = undecided(report.steps[1]);
  return report;
}

// The first step is right within rounding, the second may be anything.
struct Compared {
  ComparedMatrix one{.name = "V", .tensor = tensor_of({2}, {1, 2})};
  ComparedMatrix other{.name = "V", .tensor = tensor_of({2}, {1, 2.003})};
  ComparedSide side{};
  Comparison comparison{};

  Compared() {
    side.name = "dump.npz";
    const CheckReport report = undecided_report();
    const auto step = [&](std::string name, Agreement agreement, StepReport judged) {
      ComparedStep compared{
          .name = std::move(name), .agreement = agreement, .actual = &one, .desired = &other};
      compared.difference.elements = 2;
      compared.judged = std::move(judged);
      return compared;
    };
    comparison.steps = {step("V", Agreement::close, report.steps[0]),
                        step("context", Agreement::undecided, report.steps[1])};
    comparison.first = 1;
    for (ComparedStep& compared : comparison.steps) {
      compared.judged->unit = 0.001;
      compared.judged->tolerance = 0.004;
      compared.tolerance.absolute = 0.004;
    }
  }
};

std::size_t occurrences(const std::string& text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("a report of undecided cells says how far rounding may move them and what decides") {
  const std::string text = checked_text(undecided_report(), {});
  CHECK_THAT(text, Contains("? undecided: context\n"
                            "    Undecided: rounding alone may move these cells by 0.9. Submit Q "
                            "and K to decide.\n") ||
                       Contains("? undecided: context\n"
                                "    Undecided: rounding alone may move these cells by 0.9. Submit "
                                "Q and K to\n    decide.\n"));
  CHECK_THAT(text, EndsWith("work: undecided; nothing is wrong, but rounding alone could have made "
                            "these\nnumbers\n"));
  CHECK_THAT(text, !Contains("right: V, context"));
}

TEST_CASE("a step that was submitted in part decides with its missing cells") {
  CheckReport report = undecided_report();
  report.steps[1].decided_by = {"V"};  // which is in the report
  CHECK_THAT(checked_text(report, {.width = 100}),
             Contains("Submit the missing cells of V to decide."));
}

TEST_CASE("without a step that decides, more decimals would") {
  CheckReport report = undecided_report();
  report.steps[1].decided_by.clear();
  CHECK_THAT(checked_text(report, {}), Contains("More decimals would") && !Contains("Submit"));
}

TEST_CASE("as JSON an undecided step has its room and the steps that decide, no other has") {
  const CheckReport report = undecided_report();
  const auto json = nlohmann::json::parse(
      checked_json({{"work", report, ""}}, two_words().lesson, Answers::shown));
  CHECK(json["verdict"] == "undecided");
  CHECK(json["first_wrong"].is_null());
  CHECK(json["steps"][1]["verdict"] == "undecided");
  CHECK(json["steps"][1]["cells"]["undecided"] == 4);
  CHECK(json["steps"][1]["room"] == 0.9);
  CHECK(json["steps"][1]["decided_by"] == nlohmann::json({"Q", "K"}));
  CHECK(json["steps"][0]["cells"]["undecided"] == 0);
  CHECK(!json["steps"][0].contains("room"));
}

TEST_CASE("the line and the row of an undecided submission say so, and it earns nothing there") {
  const std::vector<CheckedPath> all = {{"ann", undecided_report(), ""}};
  const Rubric rubric(two_words().lesson, two_words().trace);
  CHECK_THAT(checked_line(all.front(), rubric), Contains("ann: undecided at context, 4 of "));
  CHECK_THAT(summary_csv(all, rubric),
             Contains("ann,,undecided,4,") &&
                 Contains("context: undecided, rounding alone may move these cells by 0.9"));
}

TEST_CASE("an undecided step is no agreement, and the report names what to dump") {
  const Compared sides;
  const std::string text = compared_text(sides.comparison, sides.side, sides.side, {});
  CHECK_THAT(text, Contains("UNDECIDED") && Contains("by 0.9. Dump Q and K to") &&
                       !Contains("are the same"));
  const auto json = nlohmann::json::parse(compared_json(sides.comparison, sides.side, sides.side));
  CHECK(json["same"] == false);
  CHECK(json["steps"][1]["verdict"] == "undecided");
  CHECK(json["steps"][1]["room"] == 0.9);
  CHECK(json["steps"][1]["decided_by"] == nlohmann::json({"Q", "K"}));
}

TEST_CASE("compare prints the tolerance that was used, not only the unit") {
  const Compared sides;
  CHECK_THAT(compared_text(sides.comparison, sides.side, sides.side, {}),
             Contains("0.004 at most"));
  const auto json = nlohmann::json::parse(compared_json(sides.comparison, sides.side, sides.side));
  CHECK(json["steps"][0]["atol"] == 0.004);
}

TEST_CASE("check states the tolerance once, and what rounding adds to it") {
  CheckReport report = checked(two_words(), {{"scaled_scores", "4.031,9.970\n2.899,7.637\n"},
                                             {"attention_weights", "0.003,0.997\n0.009,0.991\n"}});
  for (StepReport& step : report.steps) {
    step.unit = 0.001;
    step.tolerance = 0.001;
  }
  CHECK(occurrences(checked_text(report, {}),
                    "you wrote 3 decimals: a cell is right within 0.001\n") == 1);
  report.steps[1].tolerance = 0.004;
  CHECK_THAT(checked_text(report, {}),
             Contains("; with the rounding of") && Contains("0.004 at most\n"));
}

TEST_CASE("a step in a coarser type than most is reported") {
  std::vector<StepReport> steps(2);
  for (StepReport& step : steps) {
    step.basis = ToleranceBasis::type;
    step.precision = Precision::float32;
  }
  note_coarser_types(steps);
  CHECK(steps[1].coarser_type == "");
  steps[1].precision = Precision::bfloat16;
  note_coarser_types(steps);
  CHECK(steps[0].coarser_type == "");
  CHECK(steps[1].coarser_type == "bfloat16");
  Compared sides;
  sides.comparison.steps[1].judged->coarser_type = "bfloat16";
  CHECK_THAT(compared_text(sides.comparison, sides.side, sides.side, {}),
             Contains("context: its numbers are bfloat16"));
}

TEST_CASE("an undecided step agrees with nothing, and may be where the difference arises") {
  Comparison comparison;
  comparison.steps = {{.name = "scores", .agreement = Agreement::close},
                      {.name = "attention_weights", .agreement = Agreement::undecided},
                      {.name = "context", .agreement = Agreement::differs}};
  comparison.first = 2;
  const auto found = bisect(comparison, two_words().trace);
  REQUIRE(found);
  CHECK(found->agrees == "scores");
  CHECK(found->has_undecided);
  CHECK(contains(found->not_submitted, "attention_weights"));
}

TEST_CASE("the report of one slip in a long matrix fits a screen and ends with the verdict") {
  std::string values, work;
  for (int i = 0; i < 60; ++i) {
    values += (i > 0 ? ",[1,2]" : "[1,2]");
    work += i == 40 ? "1,7\n" : "1,2\n";
  }
  const Task task("title = \"t\"\n[[given]]\nname = \"A\"\nvalue = [" + values +
                  "]\n[[step]]\nname = \"same\"\nop = \"relu\"\nof = [\"A\"]\n");
  CheckReport report = checked(task, {{"same", work}});
  report.submission = "work";
  const std::string text = checked_text(report, {});
  CHECK(occurrences(text, "\n") <= 22);  // a screen of 24 has the command and the prompt, too
  CHECK_THAT(text, Contains("41  1✓  7✗\n"));
  const std::size_t verdict = text.find("work: wrong; the first slip is in same");
  REQUIRE(verdict != text.npos);
  CHECK(occurrences(text.substr(verdict), "\n") <= 2);
}

}  // namespace verdicts_undecided_tests
