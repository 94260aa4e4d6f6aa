#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "lesson/library.hpp"
#include "render/text.hpp"

namespace qkv {
namespace {

struct LessonsOptions {
  std::string lesson;  ///< empty for the whole course
  bool json = false;
  bool names = false;
};

nlohmann::ordered_json json_of(const Lesson& lesson) {
  nlohmann::ordered_json steps = nlohmann::ordered_json::array();
  for (const StepRecipe& step : lesson.recipe.steps) steps.push_back(step.name);
  return {{"name", lesson.name},
          {"title", lesson.title},
          {"teaches", lesson.summary},
          {"steps", steps}};
}

std::string as_json(const std::vector<Lesson>& lessons) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Lesson& lesson : lessons) list.push_back(json_of(lesson));
  return visible_json(list.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace)) +
         "\n";
}

std::string heading(const Lesson& lesson, const Terminal& output) {
  std::string text =
      fmt::format("{}  ({} steps)\n", visible(lesson.name), lesson.recipe.steps.size());
  for (const std::string& line : wrapped(lesson.title + ". " + lesson.summary, output.width - 4)) {
    text += "    " + line + "\n";
  }
  return text;
}

std::string course(const std::vector<Lesson>& lessons, const Terminal& output) {
  std::string text;
  for (const Lesson& lesson : lessons) text += heading(lesson, output);
  return text + "\nStart with: qkv run " + lessons.front().name + "\n";
}

std::string steps_of(const Lesson& lesson, const Terminal& output) {
  std::size_t widest = 0;
  for (const StepRecipe& step : lesson.recipe.steps) widest = std::max(widest, width(step.name));
  std::string text = heading(lesson, output) + "\n";
  std::size_t number = 0;
  for (const StepRecipe& step : lesson.recipe.steps) {
    text += fmt::format("{:>4}  {}  {}\n", ++number, padded_right(visible(step.name), widest),
                        step.operation->title);
  }
  return text;
}

// One a line, for shells: the lessons of the course, or the steps of one lesson.
std::string names_of(const LessonsOptions& options, const std::vector<Lesson>& lessons) {
  std::string text;
  if (options.lesson.empty()) {
    for (const Lesson& lesson : lessons) text += lesson.name + "\n";
  } else {
    for (const StepRecipe& step : lessons.front().recipe.steps) text += step.name + "\n";
  }
  return text;
}

std::vector<Lesson> wanted_lessons(const LessonsOptions& options) {
  if (!options.lesson.empty()) {
    LessonReading reading = find_lesson(options.lesson);
    if (!reading.faults.empty()) load_lesson(options.lesson);  // throws them all
    return {std::move(reading.lesson)};
  }
  std::vector<Lesson> lessons;
  for (const BuiltInLesson& built_in : built_in_lessons()) {
    lessons.push_back(find_lesson(std::string(built_in.name)).lesson);
  }
  return lessons;
}

int run(const LessonsOptions& options, const Common& common) {
  const std::vector<Lesson> lessons = wanted_lessons(options);
  if (options.names) {
    print(names_of(options, lessons));
  } else if (options.json) {
    print(as_json(lessons));
  } else {
    const Terminal output = terminal(common.colour);
    print(options.lesson.empty() ? course(lessons, output) : steps_of(lessons.front(), output));
  }
  return 0;
}

std::function<int()> setup(CLI::App& app, const Common& common) {
  const auto options = std::make_shared<LessonsOptions>();
  app.add_option("LESSON", options->lesson, "Only this lesson, with its steps")->type_name("");
  CLI::Option* json = app.add_flag("--json", options->json, "As JSON, for programs");
  app.add_flag("--names", options->names,
               "Only the names, one a line: of the lessons, of the steps")
      ->excludes(json);
  return [options, &common] { return run(*options, common); };
}

}  // namespace

constinit const Command lessons_command{
    .name = "lessons",
    .summary = "the course: each lesson, what it teaches, its steps",
    .examples =
        "  qkv lessons\n"
        "  qkv lessons the-fat-cat          its steps\n"
        "  qkv lessons --json\n",
    .setup = setup,
};

}  // namespace qkv
