#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command.hpp"
#include "cli/lesson_options.hpp"
#include "render/walk.hpp"
#include "tensor/error.hpp"

namespace qkv {
namespace {

struct RunOptions {
  LessonChoice lesson;
  int digits = 4;
  std::string step;
  std::string from;
  std::string to;
  bool no_pause = false;
};

// The steps to show, by their place in the trace.
struct Stretch {
  std::size_t first = 0;
  std::size_t last = 0;
};

std::size_t place_of(const Trace& trace, const std::string& name) {
  return static_cast<std::size_t>(&trace.step_at(name) - trace.steps.data());
}

Stretch stretch_of(const Trace& trace, const RunOptions& options) {
  if (!options.step.empty()) {
    const std::size_t place = place_of(trace, options.step);
    return {place, place};
  }
  Stretch stretch{0, trace.steps.size() - 1};
  if (!options.from.empty()) stretch.first = place_of(trace, options.from);
  if (!options.to.empty()) stretch.last = place_of(trace, options.to);
  if (stretch.first > stretch.last) {
    throw InputError(
        fmt::format("--from {} comes after --to {}; exchange them", options.from, options.to));
  }
  return stretch;
}

int run(const RunOptions& options, const Common& common) {
  const LoadedLesson loaded = load_lesson(options.lesson.name, options.lesson.changes);
  const Terminal output = terminal(common.colour);
  const bool changed = options.lesson.changes.text || !options.lesson.changes.set.empty();
  const Trace before = changed ? load_lesson(options.lesson.name).trace : Trace{};
  const WalkLook look{.width = output.width,
                      .digits = options.digits,
                      .colour = output.colour,
                      .before = changed ? &before : nullptr};
  const Stretch stretch = stretch_of(loaded.trace, options);
  if (options.step.empty()) print(lesson_heading(loaded.lesson, look) + "\n");
  if (changed) {
    print(
        "  The matrices are worked out from what you changed; the lesson's words were written for\n"
        "  its own numbers, and a dash stands where one of them is not there.\n\n");
  }
  for (std::size_t s = stretch.first; s <= stretch.last; ++s) {
    print(step_text(loaded.lesson, loaded.trace, loaded.trace.steps[s], look));
    if (s < stretch.last) print("\n");
  }
  return 0;
}

std::function<int()> setup(CLI::App& app, const Common& common) {
  const auto options = std::make_shared<RunOptions>();
  add_lesson_options(app, options->lesson, LessonArgument::first_lesson_otherwise);
  CLI::Option* step = app.add_option("--step", options->step, "Only this step");
  step->type_name("NAME");
  app.add_option("--from", options->from, "Start at this step")->type_name("NAME")->excludes(step);
  app.add_option("--to", options->to, "Stop after this step")->type_name("NAME")->excludes(step);
  add_digits_option(app, options->digits);
  app.add_flag("--no-pause", options->no_pause, "Print everything at once");
  return [options, &common] { return run(*options, common); };
}

}  // namespace

constinit const Command run_command{
    .name = "run",
    .summary = "walks a lesson: every matrix with its shape and an explanation",
    .examples =
        "  qkv run the-fat-cat\n"
        "  qkv run the-fat-cat --step scores --digits 2\n"
        "  qkv run the-fat-cat --text \"the cat sat\"\n"
        "  qkv run the-fat-cat --set 'W_Q[head 1,1,2]=0.5' --from Q\n"
        "  qkv run my-lesson.toml\n",
    .setup = setup,
};

}  // namespace qkv
