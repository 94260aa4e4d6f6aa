#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "lesson/library.hpp"
#include "render/text.hpp"
#include "tensor/error.hpp"

namespace qkv {
namespace {

struct LessonsOptions {
  std::string name;
  bool source = false;
  bool json = false;
};

std::string paragraph(const std::string& prose, std::size_t width) {
  std::string text;
  for (const std::string& line : wrapped(prose, width - 4)) text += "    " + line + "\n";
  return text;
}

std::string as_json() {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const BuiltInLesson& built_in : built_in_lessons()) {
    const Lesson lesson = find_lesson(std::string(built_in.name)).lesson;
    nlohmann::ordered_json steps = nlohmann::ordered_json::array();
    for (const StepRecipe& step : lesson.recipe.steps) steps.push_back(step.name);
    list.push_back({{"name", lesson.name},
                    {"title", lesson.title},
                    {"teaches", lesson.summary},
                    {"steps", steps}});
  }
  return list.dump(2) + "\n";
}

std::string as_text(const Terminal& output) {
  std::string text;
  for (const BuiltInLesson& built_in : built_in_lessons()) {
    const Lesson lesson = find_lesson(std::string(built_in.name)).lesson;
    text += fmt::format("{}  ({} steps)\n", lesson.name, lesson.recipe.steps.size());
    text += paragraph(lesson.title + ". " + lesson.summary, output.width);
  }
  return text + "\nStart with: qkv run " + std::string(built_in_lessons().front().name) + "\n";
}

// One lesson: what it is about, the words that its text may have, its steps.
std::string about(const Lesson& lesson, const Terminal& output) {
  std::string text = visible(lesson.title) + "\n";
  text += paragraph(lesson.summary, output.width);
  if (!lesson.source.empty()) {
    text += paragraph("Numbers from: " + lesson.source, output.width);
  }
  const Environment& environment = lesson.recipe.environment;
  if (!environment.texts.empty()) {
    text += fmt::format(
        "\nText:\n{}",
        paragraph(fmt::format("{}", fmt::join(environment.texts, " / ")), output.width));
  }
  if (!environment.vocabulary.empty()) {
    text += "\nWords that it knows, for --text (write them just like this, without full stops):\n";
    text += paragraph(fmt::format("{}", fmt::join(environment.vocabulary, ", ")), output.width);
  }
  text += "\nSteps:\n";
  for (std::size_t s = 0; s < lesson.recipe.steps.size(); ++s) {
    const StepRecipe& step = lesson.recipe.steps[s];
    const std::string& title = lesson.texts[s].title;
    text += fmt::format("{:4}  {:<20}  {}\n", s + 1, step.name,
                        title.empty() ? step.operation->title : visible(title));
  }
  return text + fmt::format("\nWalk it with: qkv run {}\n", visible(lesson.where));
}

// The lesson's file as it was written: something to learn from, and to change.
std::string source_of(const std::string& name) {
  for (const BuiltInLesson& built_in : built_in_lessons()) {
    if (built_in.name == name) return std::string(built_in.toml);
  }
  find_lesson(name);  // says which name was probably meant, where there is no such file either
  throw InputError(fmt::format(
      "{} is a file of your own already; --source prints a built-in lesson", visible(name)));
}

std::string of_one(const LessonsOptions& options, const Terminal& output) {
  if (options.source) return source_of(options.name);
  const LessonReading reading = find_lesson(options.name);
  if (!reading.faults.empty()) {
    throw InputError(fault_line(reading.lesson, reading.faults.front()));
  }
  return about(reading.lesson, output);
}

std::function<int()> setup(CLI::App& app, const Common& common) {
  const auto options = std::make_shared<LessonsOptions>();
  CLI::Option* name =
      app.add_option("LESSON", options->name, "One lesson: its words and its steps")->type_name("");
  app.add_flag("--source", options->source, "Print the lesson's file, to learn from and to change")
      ->needs(name);
  app.add_flag("--json", options->json, "The course as JSON, for programs")->excludes(name);
  return [options, &common] {
    const Terminal output = terminal(common.colour);
    print(!options->name.empty() ? of_one(*options, output)
          : options->json        ? as_json()
                                 : as_text(output));
    return 0;
  };
}

}  // namespace

constinit const Command lessons_command{
    .name = "lessons",
    .summary = "the course: each lesson, what it teaches, its steps",
    .examples =
        "  qkv lessons\n"
        "  qkv lessons the-fat-cat                      its words and its steps\n"
        "  qkv lessons the-fat-cat --source > mine.toml a lesson file to change\n",
    .setup = setup,
};

}  // namespace qkv
