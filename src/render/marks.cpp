#include <fmt/format.h>

#include "formats/csv_label.hpp"
#include "render/checked.hpp"
#include "render/text.hpp"

namespace qkv {
namespace {

// Of the steps: a given that was copied wrong has an entry, too, but nobody worked it out.
std::size_t right_cells(const CheckReport& report, const Trace& trace) {
  std::size_t count = 0;
  for (const StepReport& step : report.steps) {
    if (!trace.find_step(step.step)) continue;
    count += step.cells.correct + step.cells.rounding + step.cells.carried;
  }
  return count;
}

std::size_t all_cells(const Trace& trace) {
  std::size_t count = 0;
  for (const Step& step : trace.steps) count += step.output.values.size();
  return count;
}

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

// A cell of a CSV table, quoted where it has to be.
std::string csv_text(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

std::string checked_line(const CheckedPath& one, const Trace& trace) {
  std::string text = visible(one.path) + ": ";
  if (!one.report) return text + "can't be read\n";
  text += outcome_name(one.report->outcome);
  if (const StepReport* step = first_wrong_step(*one.report)) {
    const std::string ids = mistake_ids(step);
    text += fmt::format(" at {}{}", step->step, ids.empty() ? "" : " (" + ids + ")");
  }
  return text +
         fmt::format(", {} of {} cells\n", right_cells(*one.report, trace), all_cells(trace));
}

std::string summary_csv(const std::vector<CheckedPath>& all, const Trace& trace) {
  std::string text = "submission,verdict,first_wrong,mistakes,marks,cells\n";
  for (const CheckedPath& one : all) {
    if (!one.report) {
      text += fmt::format("{},unreadable,,,0,{}\n", csv::label_cell(one.path), all_cells(trace));
      continue;
    }
    const CheckReport& report = *one.report;
    text += fmt::format("{},{},{},{},{},{}\n", csv::label_cell(one.path),
                        outcome_name(report.outcome), csv_text(report.first_wrong.value_or("")),
                        csv_text(mistake_ids(first_wrong_step(report))), right_cells(report, trace),
                        all_cells(trace));
  }
  return text;
}

}  // namespace qkv
