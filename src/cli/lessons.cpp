#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "lesson/library.hpp"
#include "render/text.hpp"

namespace qkv {
namespace {

struct LessonsOptions {
  bool json = false;
};

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
    for (const std::string& line :
         wrapped(lesson.title + ". " + lesson.summary, output.width - 4)) {
      text += "    " + line + "\n";
    }
  }
  return text + "\nStart with: qkv run " + std::string(built_in_lessons().front().name) + "\n";
}

std::function<int()> setup(CLI::App& app, const Common& common) {
  const auto options = std::make_shared<LessonsOptions>();
  app.add_flag("--json", options->json, "As JSON, for programs");
  return [options, &common] {
    print(options->json ? as_json() : as_text(terminal(common.colour)));
    return 0;
  };
}

}  // namespace

constinit const Command lessons_command{
    .name = "lessons",
    .summary = "the course: each lesson, what it teaches, its steps",
    .examples = "  qkv lessons\n  qkv lessons --json\n",
    .setup = setup,
};

}  // namespace qkv
