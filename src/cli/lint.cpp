#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "check/distinct.hpp"
#include "cli/command.hpp"
#include "lesson/library.hpp"
#include "lesson/lint.hpp"
#include "render/text.hpp"
#include "tensor/error.hpp"

namespace qkv {
namespace {

struct LintOptions {
  std::vector<std::string> files;
  bool mistakes = false;
};

bool is_error(const Fault& fault) { return fault.kind == Fault::Kind::error; }

// One line for each step whose numbers stay the same under some known mistakes: a learner who makes
// one of them there is not found out.
void add_invisible_mistakes(const Lesson& lesson, std::vector<Fault>& faults) {
  constexpr double unit = 0.001;  // of work to three decimals
  const Trace trace = evaluate(lesson.recipe);
  const std::vector<Indistinct> invisible = invisible_mistakes(trace, unit);
  for (std::size_t s = 0; s < trace.steps.size(); ++s) {
    std::string ids;
    for (const Indistinct& mistake : invisible) {
      if (mistake.step != trace.steps[s].name) continue;
      ids += fmt::format("{}{}", ids.empty() ? "" : ", ", mistake.id);
    }
    if (ids.empty()) continue;
    faults.push_back({lesson.texts[s].place,
                      fmt::format("{} comes out right with {}; other numbers would show it",
                                  trace.steps[s].name, ids),
                      Fault::Kind::advice});
  }
  std::stable_sort(faults.begin(), faults.end(), [](const Fault& a, const Fault& b) {
    return std::pair(a.place.line, a.place.column) < std::pair(b.place.line, b.place.column);
  });
}

// Prints what is wrong with one lesson; whether it is good but for advice.
bool lint_one(const std::string& file, const LintOptions& options) {
  const LessonReading reading = find_lesson(file);
  std::vector<Fault> faults = lint(reading);
  const bool good = std::none_of(faults.begin(), faults.end(), is_error);
  if (options.mistakes && good) add_invisible_mistakes(reading.lesson, faults);
  for (const Fault& fault : faults) print(visible(fault_line(reading.lesson, fault)) + "\n");
  if (faults.empty()) print(visible(file) + ": good\n");
  return good;
}

int run(const LintOptions& options) {
  bool good = true;
  for (const std::string& file : options.files) {
    try {
      good = lint_one(file, options) && good;
    } catch (const InputError& error) {  // not there, or no text: the other files are linted still
      tell(fmt::format("qkv: {}\n", visible(error.what())));
      good = false;
    }
  }
  return good ? 0 : 2;
}

std::function<int()> setup(CLI::App& app, const Common&) {
  const auto options = std::make_shared<LintOptions>();
  app.add_option("FILE", options->files, "Lesson files, or names of built-in lessons")
      ->required()
      ->type_name("");
  app.add_flag("--mistakes", options->mistakes,
               "Also say where a known mistake would give the right numbers");
  return [options] { return run(*options); };
}

}  // namespace

constinit const Command lint_command{
    .name = "lint",
    .summary = "validates lesson files: every fault with its place and what to write instead",
    .examples =
        "  qkv lint my-lesson.toml\n  qkv lint lessons/*.toml\n"
        "  qkv lint --mistakes my-lesson.toml       which mistakes its numbers can't show\n",
    .setup = setup,
};

}  // namespace qkv
