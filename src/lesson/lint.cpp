#include "lesson/lint.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lesson/expectation.hpp"
#include "lesson/prose.hpp"
#include "tensor/error.hpp"
#include "trace/reference.hpp"

namespace qkv {
namespace {

void lint_prose(const Prose& prose, const Trace& trace, std::vector<Fault>& faults) {
  for (const ProseFault& fault : prose_faults(prose.text, trace)) {
    const auto lines = std::count(
        prose.text.begin(), prose.text.begin() + static_cast<std::ptrdiff_t>(fault.offset), '\n');
    faults.push_back(
        {{prose.place.line + static_cast<std::size_t>(lines), lines == 0 ? prose.place.column : 1},
         fault.message});
  }
}

// The cell that a step wants worked out must be one of its own.
void lint_cell(const Prose& cell, const std::string& step, const Trace& trace,
               std::vector<Fault>& faults) {
  if (cell.text.empty()) return;
  try {
    const CellReference found = find_cell(cell.text, trace);
    if (found.name == step) return;
    faults.push_back({cell.place, fmt::format("{} is no cell of {}; write one of its own, as in "
                                              "cell = \"{}[1,1]\"",
                                              cell.text, step, step)});
  } catch (const InputError& error) {
    faults.push_back({cell.place, error.what()});
  }
}

}  // namespace

std::vector<Fault> lint(const LessonReading& reading) {
  const Lesson& lesson = reading.lesson;
  std::vector<Fault> faults = reading.faults;
  const Evaluation evaluation = evaluate_all(lesson.recipe);
  for (const StepFault& fault : evaluation.faults) {
    faults.push_back({lesson.texts[fault.step].place, fault.message});
  }
  // With a step missing, what speaks of it can't be judged.
  const bool whole = faults.empty();
  for (std::size_t s = 0; s < lesson.texts.size(); ++s) {
    const StepText& text = lesson.texts[s];
    if (whole) lint_prose(text.say, evaluation.trace, faults);
    if (whole) lint_prose(text.notice, evaluation.trace, faults);
    if (whole) lint_cell(text.cell, lesson.recipe.steps[s].name, evaluation.trace, faults);
    if (text.say.text.empty()) {
      faults.push_back({text.place,
                        fmt::format("{} has no words of its own; write say = \"…\"",
                                    lesson.recipe.steps[s].name),
                        Fault::Kind::advice});
    }
  }
  for (const Expectation& expectation : lesson.expectations) {
    if (!evaluation.trace.find(expectation.of)) continue;  // its step's own fault is told
    const std::string wrong = disagreement(expectation, evaluation.trace);
    if (!wrong.empty()) faults.push_back({expectation.place, wrong});
  }
  std::stable_sort(faults.begin(), faults.end(), [](const Fault& a, const Fault& b) {
    return std::pair(a.place.line, a.place.column) < std::pair(b.place.line, b.place.column);
  });
  return faults;
}

}  // namespace qkv
