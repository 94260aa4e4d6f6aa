#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "formats/handwork/csv_label.hpp"
#include "text/escape.hpp"
#include "verdicts/checked.hpp"

namespace qkv {
namespace {

const StepReport* first_wrong_step(const CheckReport& report) {
  for (const StepReport& step : report.steps) {
    if (report.first_wrong && step.step == *report.first_wrong) return &step;
  }
  return nullptr;
}

std::string mistake_ids(const StepReport* step) {
  std::string ids;
  if (!step) return ids;
  for (const Diagnosis& mistake : step->mistakes) {
    ids += (ids.empty() ? "" : " ") + std::string(mistake.id);
  }
  return ids;
}

std::string mistakes_in_words(const StepReport& step) {
  if (step.mistakes.empty()) return "no known mistake makes these numbers";
  const Diagnosis& first = step.mistakes.front();
  return first.sure ? first.says : "it could be: " + first.says;
}

// Why a submission has not got all that there is, in words.
std::string reason_of(const CheckedPath& one, const Marks& marks, const Trace& trace) {
  if (!one.report) return one.failure;
  std::vector<std::string> reasons;
  if (const StepReport* step = first_wrong_step(*one.report)) {
    const bool is_given = trace.find_step(step->step) == nullptr;
    reasons.push_back(fmt::format(
        "{}: {}", step->step, is_given ? "not the lesson's numbers" : mistakes_in_words(*step)));
  }
  if (!marks.void_roots.empty()) {
    reasons.push_back(
        fmt::format("what rests on {} earns nothing", fmt::join(marks.void_roots, ", ")));
  }
  if (!one.report->missing.empty()) {
    reasons.push_back(fmt::format("not handed in: {}", fmt::join(one.report->missing, ", ")));
  }
  return fmt::format("{}", fmt::join(reasons, "; "));
}

// Hundredths are enough for any teacher, and the steps add up to the whole as they stand.
double in_hundredths(double marks) { return std::round(100 * marks) / 100; }

StepMarks total_of(const Marks& marks) {
  StepMarks total{.marks = 0, .of = marks.total.of};
  for (const StepMarks& step : marks.steps) total.marks += in_hundredths(step.marks);
  return {.marks = in_hundredths(total.marks), .of = in_hundredths(total.of)};
}

}  // namespace

std::string checked_line(const CheckedPath& one, const MarkScheme& scheme) {
  std::string text = visible(one.path) + ": ";
  if (!one.report) return text + "can't be read\n";
  text += outcome_name(one.report->outcome);
  if (const StepReport* step = first_wrong_step(*one.report)) {
    const std::string ids = mistake_ids(step);
    text += fmt::format(" at {}{}", step->step, ids.empty() ? "" : " (" + ids + ")");
  }
  const StepMarks total = total_of(scheme.of(*one.report));
  return text + fmt::format(", {} of {} marks\n", total.marks, total.of);
}

std::string summary_csv(const std::vector<CheckedPath>& all, const MarkScheme& scheme) {
  std::string text = "submission,student,verdict,marks,of,first_wrong,mistakes,reason";
  for (const Step& step : scheme.trace().steps) text += "," + step.name;
  text += "\n";
  for (const CheckedPath& one : all) {
    const Marks marks = one.report ? scheme.of(*one.report) : scheme.nothing();
    const StepMarks total = total_of(marks);
    const std::string_view verdict =
        one.report ? outcome_name(one.report->outcome) : std::string_view("unreadable");
    const StepReport* wrong = one.report ? first_wrong_step(*one.report) : nullptr;
    text += fmt::format("{},,{},{},{},{},{},{}", csv::label_cell(one.path), verdict, total.marks,
                        total.of, csv::label_cell(wrong ? wrong->step : ""),
                        csv::label_cell(mistake_ids(wrong)),
                        csv::label_cell(reason_of(one, marks, scheme.trace())));
    for (const StepMarks& step : marks.steps) text += fmt::format(",{}", in_hundredths(step.marks));
    text += "\n";
  }
  return text;
}

}  // namespace qkv
