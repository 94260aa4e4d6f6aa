#include "terminal/walk.hpp"

#include <algorithm>
#include <cmath>

#include "check/check.hpp"
#include "exposition/arithmetic.hpp"
#include "lessons.hpp"
#include "page/report.hpp"
#include "target.hpp"
#include "text/escape.hpp"
#include "verdicts/checked.hpp"

namespace qkv::fuzz {
namespace {

// What somebody might hand in: each step rounded to two decimals, and slips here and there.
Submission submission_of(const Trace& trace, std::size_t slip_every) {
  Submission submission{.name = "work", .files = {}, .notes = {}, .list = {}};
  std::size_t cells = 0;
  for (const Step& step : trace.steps) {
    const Tensor shown = as_shown(step.output, trace.token_layout);
    ParsedArray written{.shape = shown.shape(), .cells = {}, .row_labels = {}, .column_labels = {}};
    for (const double value : shown.values) {
      const double slip = ++cells % slip_every == 0 ? 0.5 : 0;
      written.cells.push_back({.value = std::round(value * 100) / 100 + slip, .decimals = 2});
    }
    submission.files.push_back({.file = step.name + ".csv",
                                .name = step.name,
                                .leading = {},
                                .written = std::move(written)});
  }
  return submission;
}

void walk(const LoadedLesson& loaded, std::size_t width) {
  const WalkStyle look{.width = width};
  std::string text = lesson_heading(loaded.lesson, look);
  for (const Step& step : loaded.trace.steps) {
    text += step_text(loaded.lesson, loaded.trace, step, look);
  }
  law(text.find('\x1b') == text.npos, "without colour there are no escapes");
  law(sanitise_prose(text) == text, "a walk can be shown");
}

void judge_and_tell(const LoadedLesson& loaded, std::size_t slip_every) {
  const Submission submission = submission_of(loaded.trace, slip_every);
  const CheckReport report = check_submission(loaded.lesson, loaded.trace, submission, {});
  checked_text(report, {});
  std::vector<CheckedPath> all(1);
  all[0] = {.path = "work", .report = report, .failure = {}};
  checked_json(all, loaded.lesson, Answers::shown);
}

// A lesson through everything that a person does with it. Its length chooses the width and slips.
// The course's models are large for that; `checkpoint` has small ones.
void call(std::string_view bytes) {
  if (is_large(bytes) || bytes.find("[model]") != bytes.npos) return;
  const LoadedLesson loaded = evaluated_lesson(bytes);
  if (loaded.trace.steps.empty()) return;
  walk(loaded, 40 + bytes.size() % 80);
  judge_and_tell(loaded, 3 + bytes.size() % 11);
  report_page(loaded.lesson, loaded.trace, {.command = "qkv"});
}

}  // namespace

const Target target{.call = call};

}  // namespace qkv::fuzz
