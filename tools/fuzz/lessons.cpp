#include "lessons.hpp"

#include <charconv>
#include <cmath>

#include "check/check.hpp"
#include "check/compare/compare.hpp"
#include "check/compare/side.hpp"
#include "check/intake/submission.hpp"
#include "formats/files/read_file.hpp"
#include "page/pages.hpp"
#include "target.hpp"
#include "terminal/walk.hpp"
#include "text/strings.hpp"
#include "text/unicode.hpp"
#include "trace/trace.hpp"
#include "verdicts/verdicts.hpp"

namespace qkv::fuzz {
namespace {

constexpr std::string_view small = R"(
title = "Small"
text = "the fat cat, the \"2\""
[[given]]
name = "table"
value = [[1, 0], [0.5, 2], [0, -1], [3, 1], [1, 1], [0, 0.25]]
columns = ["a,b", 'x",y']
[[given]]
name = "W"
value = [[[1, 2], [0, 1]], [[0, 1], [1, 0.5]]]
[[step]]
name = "token_ids"
op = "tokenise"
[[step]]
name = "X"
op = "embed"
of = ["token_ids", "table"]
[[step]]
name = "Q"
op = "project"
of = ["X", "W"]
[[step]]
name = "scores"
op = "score"
of = ["Q", "Q"]
[[step]]
name = "weights"
op = "softmax"
of = ["scores"]
say = "It is {weights[head 1,1,1]}, at most {weights.max}."
)";

constexpr std::size_t largest_number = 64;

// What somebody might hand in: each step rounded to two decimals, and slips here and there.
Submission submission_of(const Trace& trace, std::size_t slip_every) {
  Submission submission{.name = "work", .files = {}, .notes = {}, .list = {}};
  std::size_t cells = 0;
  for (const Step& step : trace.steps) {
    const Tensor shown = as_shown(step.output, trace.token_layout);
    ParsedArray written{.shape = shown.shape(), .cells = {}, .row_labels = {}, .column_labels = {}};
    for (const double value : shown.values) {
      const double slip = ++cells % slip_every == 0 ? 0.5 : 0;
      written.cells.to_write().push_back(
          {.value = std::round(value * 100) / 100 + slip, .decimals = 2});
    }
    submission.files.push_back({.file = step.name + ".csv",
                                .name = step.name,
                                .leading = {},
                                .written = std::move(written)});
  }
  return submission;
}

void walk(const LoadedLesson& loaded, std::size_t width) {
  WalkStyle look;
  look.width = width;
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

}  // namespace

LessonFiles files_of(std::string_view toml) {
  if (toml.find("[model]") != toml.npos) return LessonFiles(built_in_files());
  return std::filesystem::path(QKV_TEST_LESSONS);
}

LoadedLesson evaluated_lesson(std::string_view toml) {
  ParsedLesson reading = read_lesson(toml, "small.toml", files_of(toml));
  if (!reading.faults.empty()) {
    throw InputError(fault_line(reading.lesson, reading.faults.front()));
  }
  Trace trace = evaluate(reading.lesson.recipe);
  return {std::move(reading.lesson), std::move(trace)};
}

void use_lesson(const LoadedLesson& loaded, std::size_t variant) {
  if (loaded.trace.steps.empty()) return;
  walk(loaded, 40 + variant % 80);
  judge_and_tell(loaded, 3 + variant % 11);
  write_report(loaded.lesson, loaded.trace, {.command = "qkv"}, [](std::string_view) {});
}

void check_files(const LoadedLesson& loaded, const std::filesystem::path& path) {
  const Submission submission = read_submission(path, loaded.trace);
  const CheckReport report = check_submission(loaded.lesson, loaded.trace, submission, {});
  checked_text(report, {});
  std::vector<CheckedPath> all(1);
  all[0] = {.path = "work", .report = report, .failure = {}};
  checked_json(all, loaded.lesson, Answers::shown);
  law(verify_export(list_files(path), submission.list).find('\n') == std::string::npos,
      "a doubt is one line");
}

void compare_files(const LoadedLesson& loaded, const std::filesystem::path& path) {
  const ComparedSide lesson = compared_side("lesson", loaded.trace);
  ComparedSide side = compared_side(
      path.string(), load_arrays(path, options_of_files(lesson, ReadLimit::by_its_step)));
  adopt_names(lesson, side);
  match_layout(lesson, {}, side);
  auto checked = check_program(loaded.lesson, loaded.trace, {}, side, false);
  const Comparison comparison = compare(side, lesson, {}, std::move(checked));
  compared_text(comparison, side, lesson, {});
  compared_json(comparison, side, lesson);
}

std::shared_ptr<const LoadedLesson> small_lesson() {
  static const auto lesson = std::make_shared<const LoadedLesson>(evaluated_lesson(small));
  return lesson;
}

bool is_large(std::string_view toml) {
  for (const std::string_view key : {"rand", "linear", "eye", "ones", "zeros", "tril"}) {
    for (std::size_t at = toml.find(key); at != toml.npos; at = toml.find(key, at + 1)) {
      const std::string_view rest = toml.substr(at, 200);
      for (std::size_t i = 0; i < rest.size(); ++i) {
        std::size_t number = 0;
        const auto [end, error] =
            std::from_chars(rest.data() + i, rest.data() + rest.size(), number);
        if (error == std::errc::result_out_of_range || number > largest_number) return true;
        if (end != rest.data() + i) i = static_cast<std::size_t>(end - rest.data());
      }
    }
  }
  return false;
}

}  // namespace qkv::fuzz
