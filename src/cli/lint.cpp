#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "cli/command.hpp"
#include "lesson/library.hpp"
#include "lesson/lint.hpp"
#include "render/text.hpp"

namespace qkv {
namespace {

struct LintOptions {
  std::vector<std::string> files;
};

int run(const LintOptions& options) {
  bool good = true;
  for (const std::string& file : options.files) {
    const LessonReading reading = find_lesson(file);
    const std::vector<Fault> faults = lint(reading);
    for (const Fault& fault : faults) {
      print(visible(fault_line(reading.lesson, fault)) + "\n");
      good = good && fault.kind == Fault::Kind::advice;
    }
    if (faults.empty()) print(visible(file) + ": good\n");
  }
  return good ? 0 : 2;
}

std::function<int()> setup(CLI::App& app, const Common&) {
  const auto options = std::make_shared<LintOptions>();
  app.add_option("FILE", options->files, "Lesson files, or names of built-in lessons")
      ->required()
      ->type_name("");
  return [options] { return run(*options); };
}

}  // namespace

constinit const Command lint_command{
    .name = "lint",
    .summary = "validates lesson files: every fault with its place and what to write instead",
    .examples = "  qkv lint my-lesson.toml\n  qkv lint lessons/*.toml\n",
    .setup = setup,
};

}  // namespace qkv
