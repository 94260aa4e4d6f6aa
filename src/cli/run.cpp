#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command.hpp"
#include "cli/lesson_options.hpp"
#include "cli/screen.hpp"
#include "cli/stepping.hpp"
#include "render/changes.hpp"
#include "render/walk.hpp"
#include "stepping/walkthrough.hpp"
#include "tensor/error.hpp"

namespace qkv {
namespace {

struct RunOptions {
  LessonChoice lesson;
  int digits = 4;
  std::string step;
  std::string from;
  std::string to;
  bool pause = false;
  bool no_pause = false;
  bool plain = false;
  bool quiz = false;
  std::uint32_t seed = 0;
};

Stretch stretch_of(const Trace& trace, const RunOptions& options) {
  if (!options.step.empty()) {
    const std::size_t place = place_of_step(trace, options.step);
    return {place, place};
  }
  Stretch stretch{0, trace.steps.size() - 1};
  if (!options.from.empty()) stretch.first = place_of_step(trace, options.from);
  if (!options.to.empty()) stretch.last = place_of_step(trace, options.to);
  if (stretch.first > stretch.last) {
    throw InputError(
        fmt::format("--from {} comes after --to {}; exchange them", options.from, options.to));
  }
  return stretch;
}

// A reader at a terminal turns the pages; whoever asks for one step wants just that one.
bool pauses(const RunOptions& options) {
  if (options.pause || options.quiz) return true;
  return !options.no_pause && options.step.empty() && is_terminal();
}

void print_all(const LoadedLesson& loaded, const RunOptions& options, const Terminal& output) {
  const WalkLook look{.width = output.width,
                      .digits = options.digits,
                      .colour = output.colour,
                      .began = loaded.own ? &loaded.own->trace : nullptr};
  const Stretch stretch = stretch_of(loaded.trace, options);
  if (options.step.empty()) {
    print(lesson_heading(loaded.lesson, look) + "\n");
  } else if (loaded.lesson.changed) {
    print(indented(std::string(changed_words), look) + "\n");
  }
  for (std::size_t s = stretch.first; s <= stretch.last; ++s) {
    print(step_text(loaded.lesson, loaded.trace, loaded.trace.steps[s], look));
    if (s < stretch.last) print("\n");
  }
}

// What was typed of the lesson and its changes.
std::string command_of(const RunOptions& options) {
  const LessonChanges& changes = options.lesson.changes;
  const bool plain = options.lesson.name.find_first_of(" '\"$&;") == std::string::npos;
  std::string command = "qkv run " + (plain ? options.lesson.name : quoted(options.lesson.name));
  if (changes.text) command += " --text " + quoted(*changes.text);
  for (const std::string& change : changes.set) command += " --set " + quoted(change);
  return command;
}

int run(const RunOptions& options, const Common& common) {
  LoadedLesson loaded = load(options.lesson);
  const Terminal output = terminal(common.colour);
  if (!pauses(options)) {
    print_all(loaded, options, output);
    return 0;
  }
  const Stretch stretch = stretch_of(loaded.trace, options);
  SteppingChoice choice{.plain = options.plain, .quiz_seed = {}, .command = command_of(options)};
  if (options.quiz) choice.quiz_seed = options.seed;
  const bool shades = output.colour && (!options.plain || common.colour == ColourChoice::always);
  Walkthrough walk = walkthrough(std::move(loaded), stretch, options.digits, shades);
  if (options.plain) walk.picture = Picture::numbers;  // dots are noise to a screen reader
  step_through(std::move(walk), choice, output.width);
  return 0;
}

std::function<int()> setup(CLI::App& app, const Common& common) {
  const auto options = std::make_shared<RunOptions>();
  add_lesson_options(app, options->lesson, LessonArgument::first_lesson_otherwise);
  CLI::Option* step = app.add_option("--step", options->step, "Only this step (name or number)");
  step->type_name("NAME");
  app.add_option("--from", options->from, "Start at this step")->type_name("NAME")->excludes(step);
  app.add_option("--to", options->to, "Stop after this step")->type_name("NAME")->excludes(step);
  add_digits_option(app, options->digits);
  CLI::Option* pause =
      app.add_flag("--pause", options->pause, "Go step by step, also where no terminal is");
  CLI::Option* no_pause = app.add_flag("--no-pause", options->no_pause, "Print everything at once");
  no_pause->excludes(pause);
  app.add_flag("--plain", options->plain, "Step by plain lines, as a screen reader likes them");
  CLI::Option* quiz =
      app.add_flag("--quiz", options->quiz, "Ask for one cell of each step before it is shown");
  quiz->excludes(no_pause);
  app.add_option("--seed", options->seed, "Ask for other cells (0)")->type_name("N")->needs(quiz);
  return [options, &common] { return run(*options, common); };
}

}  // namespace

constinit const Command run_command{
    .name = "run",
    .summary = "walks a lesson: every matrix with its shape and an explanation",
    .examples =
        "  qkv run the-fat-cat                     on a terminal: step by step, ? lists the keys\n"
        "  qkv run the-fat-cat --quiz              asks for one cell of each step first\n"
        "  qkv run the-fat-cat --no-pause | less   all of it\n"
        "  qkv run the-fat-cat --step scores --digits 2\n"
        "  qkv run the-fat-cat --text \"the cat sat\"\n"
        "  qkv run the-fat-cat --set 'W_Q[head 1,1,2]=0.5' --from Q\n"
        "  qkv run my-lesson.toml\n",
    .setup = setup,
    .model = ModelPlace::first,
};

}  // namespace qkv
