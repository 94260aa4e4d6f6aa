#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <filesystem>
#include <memory>

#include "check/comparison.hpp"
#include "check/side.hpp"
#include "cli/command.hpp"
#include "cli/lesson_options.hpp"
#include "cli/option_list.hpp"
#include "formats/dump.hpp"
#include "formats/format.hpp"
#include "formats/shell_word.hpp"
#include "lesson/library.hpp"
#include "render/compared.hpp"
#include "render/text.hpp"
#include "tensor/error.hpp"

namespace qkv {
namespace {

namespace fs = std::filesystem;

struct CompareOptions {
  std::string actual;
  std::string desired;
  LessonChoice lesson;  ///< the model, and what is changed in a lesson or in it
  ToleranceChoice tolerance;
  bool json = false;
};

// Whether the name means a lesson: one of the course, a model that has got a text to read, or
// whatever is no directory and no file of numbers.
bool is_lesson(const std::string& name, const CompareOptions& options) {
  if (!options.lesson.model.empty() && name == options.lesson.model) return true;
  if (options.lesson.changes.text && is_model_file(name) && is_model(name)) return true;
  for (const BuiltInLesson& lesson : built_in_lessons()) {
    if (lesson.name == name) return true;
  }
  std::error_code ignored;
  if (fs::is_directory(name, ignored)) return false;
  const Format* format = format_of(name);
  return format == nullptr || format->read == nullptr;
}

Side dump_side(const std::string& name, const ExpectedSize& expected) {
  std::error_code ignored;
  if (!fs::exists(name, ignored)) {
    throw InputError(fmt::format("{}: there is no such file or directory", name));
  }
  return side_of(name, read_dump(name, expected));
}

struct Sides {
  Side actual;
  Side desired;
};

// A lesson knows its sizes, so it is read first: they tell labels from numbers in plain files.
Sides read_sides(const CompareOptions& options) {
  const auto lesson_side = [&](const std::string& name) {
    LessonChoice choice = options.lesson;
    choice.name = name;
    if (name != choice.model) choice.model.clear();
    if (choice.model.empty() && !is_model_file(name)) choice.settings = {};  // the other side's
    return side_of(name, load(choice).trace);
  };
  const auto no_size = [](const std::string&) { return std::nullopt; };
  Sides sides;
  const bool actual_first = is_lesson(options.actual, options);
  const auto read = [&](const std::string& name, const ExpectedSize& expected) {
    return is_lesson(name, options) ? lesson_side(name) : dump_side(name, expected);
  };
  if (actual_first) {
    sides.actual = read(options.actual, no_size);
    sides.desired = read(options.desired, sizes_of(sides.actual));
    take_names_of(sides.actual, sides.desired);
  } else {
    sides.desired = read(options.desired, no_size);
    sides.actual = read(options.actual, sizes_of(sides.desired));
    take_names_of(sides.desired, sides.actual);
  }
  return sides;
}

// Only a lesson can tell what went wrong in a dump.
std::string check_command(const CompareOptions& options) {
  const bool actual = is_lesson(options.actual, options);
  if (actual == is_lesson(options.desired, options)) return {};
  LessonChoice lesson = options.lesson;
  lesson.name = actual ? options.actual : options.desired;
  return fmt::format("qkv check {} {}", shell_words(lesson),
                     shell_word(actual ? options.desired : options.actual));
}

void tell_notes(const Side& side) {
  for (const std::string& note : side.notes) {
    tell(fmt::format("qkv: {}: {}\n", visible(side.name), visible(note)));
  }
  for (const UnreadFile& file : side.unread) {
    tell(fmt::format("qkv: skipped, since it holds no matrix: {}\n", visible(file.why)));
  }
}

void refuse_idle_changes(const CompareOptions& options) {
  const LessonChanges& changes = options.lesson.changes;
  if (!changes.text && changes.set.empty()) return;
  if (is_lesson(options.actual, options) || is_lesson(options.desired, options)) return;
  throw InputError(fmt::format("{} changes a lesson, and neither of the two is one",
                               changes.text ? "--text" : "--set"));
}

int run(const CompareOptions& options, const Common& common) {
  refuse_idle_changes(options);
  const Sides sides = read_sides(options);
  const Comparison comparison = compare(sides.actual, sides.desired, options.tolerance);
  for (const Side* side : {&sides.actual, &sides.desired}) tell_notes(*side);
  if (options.json) {
    print(visible_json(compared_json(comparison, sides.actual, sides.desired)));
  } else {
    print(compared_text(
        comparison, sides.actual, sides.desired,
        {.width = terminal(common.colour).width, .check_command = check_command(options)}));
  }
  return comparison.same() ? 0 : 1;
}

// Empty where `text` is a number of 0 or more that has an end.
std::string refusal_of_tolerance(std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool number = error == std::errc() && end == text.data() + text.size();
  if (number && std::isfinite(value) && value >= 0) return {};
  return fmt::format("\"{}\" is no tolerance; write a number of 0 or more, such as 1e-5", text);
}

std::function<int()> set_up_compare(OptionList& app, const Common& common) {
  const auto options = std::make_shared<CompareOptions>();
  app.add_option("A", options->actual,
                 "ACTUAL: a lesson, an exported directory, or a file of arrays")
      ->required()
      ->type_name("");
  app.add_option("B", options->desired, "DESIRED: the same; rtol is relative to its numbers")
      ->required()
      ->type_name("");
  app.add_option("--rtol", options->tolerance.relative,
                 "How far apart, as a part of DESIRED (1e-7; without --atol too, more for float32 "
                 "and below)")
      ->type_name("X")
      ->check(refusal_of_tolerance);
  app.add_option("--atol", options->tolerance.absolute,
                 "How far apart besides (0; without --rtol too, 1e-5 for float32 and below)")
      ->type_name("X")
      ->check(refusal_of_tolerance);
  app.add_option("--text", options->lesson.changes.text, "Another sentence for the lessons")
      ->type_name("\"…\"");
  app.add_option("--set", options->lesson.changes.set,
                 "Another value for a given's cell of the lessons")
      ->type_name("CELL=VALUE")
      ->allow_extra_args(false);
  add_model_options(app, options->lesson);
  app.add_flag("--json", options->json, "As JSON, for programs");
  return [options, &common] { return run(*options, common); };
}

}  // namespace

constinit const Command compare_command{
    .name = "compare",
    .summary =
        "two lessons or dumps of arrays, step by step: the first that differs, and by how much",
    .examples =
        "  qkv compare dump.npz the-fat-cat         a kernel's arrays against the lesson\n"
        "  qkv compare out-gpu/ out-cpu/            two directories of them\n"
        "  qkv compare mine.toml the-fat-cat --atol 0.01\n"
        "  qkv compare dump.safetensors the-fat-cat --rtol 1e-3 --json\n"
        "  qkv compare dump.npz --model model.safetensors --text \"…\"\n",
    .setup = set_up_compare,
    .model = ModelPlace::last,
};

}  // namespace qkv
