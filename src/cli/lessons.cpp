#include <nlohmann/json.hpp>

#include "cli/options.hpp"
#include "exposition/exposition.hpp"
#include "terminal/grid.hpp"
#include "text/json.hpp"

namespace qkv::inline cli {
namespace {

struct LessonsOptions {
  std::string lesson;  ///< empty for the whole course
  bool source = false;
  bool json = false;
  bool names = false;
  bool all = false;  ///< each lesson with what it teaches
};

// The parts of the course, in order: each from its first lesson to the next one's.
struct LessonGroup {
  std::string_view title;
  std::string_view first;
};
constexpr LessonGroup lesson_groups[] = {
    {"Start here", "the-fat-cat"},   {"Why and how", "why-scale"},
    {"Full size", "multi-head-512"}, {"Meaning", "fluffy-blue-creature"},
    {"Newer models", "rope"},        {"Training", "way-back"},
};

nlohmann::ordered_json json_of(const Lesson& lesson) {
  return {{"name", lesson.name},
          {"title", lesson.title},
          {"teaches", lesson.summary},
          {"steps", mapped(lesson.recipe.steps, &StepRecipe::name)}};
}

std::string paragraph(const std::string& prose, std::size_t width) {
  return hanging_lines("    ", wrapped(prose, width - 4), 4);
}

std::string course(const std::vector<Lesson>& lessons, const Terminal& output) {
  std::string text;
  for (const Lesson& lesson : lessons) {
    text += fmt::format("{}  ({} steps)\n", lesson.name, lesson.recipe.steps.size());
    text += paragraph(lesson.title + ". " + lesson.summary, output.width);
  }
  return text + "\nStart with: qkv run " + lessons.front().name + "\n";
}

// The course in a screenful.
std::string overview() {
  return fmt::format(
      "The course, {} lessons in {} parts:\n\n{}\n"
      "What a lesson teaches, and its steps: qkv lessons the-fat-cat (of all: --all)\n"
      "Type this first: qkv run the-fat-cat\n",
      built_in_lessons().size(), std::size(lesson_groups), lesson_names_by_group());
}

std::string steps_of(const Lesson& lesson, std::size_t width) {
  const std::size_t widest = max_width(mapped(lesson.recipe.steps, &StepRecipe::name));
  std::string text;
  for (std::size_t s = 0; s < lesson.recipe.steps.size(); ++s) {
    const StepRecipe& step = lesson.recipe.steps[s];
    const auto name = fmt::format("{:4}  {}  ", s + 1, padded_right(sanitise(step.name), widest));
    const std::size_t left = std::max(width, widest + 28) - widest - 8;
    text += hanging_lines(name, wrapped(title_of(lesson, s + 1), left), widest + 8);
  }
  return text;
}

// The lesson's initial text, and the tokens that other texts may use.
std::string text_and_vocabulary(const Environment& environment, const Terminal& output) {
  std::string text;
  if (!environment.texts.empty()) {
    text += "\nText:\n" +
            paragraph(fmt::format("{}", fmt::join(environment.texts, " / ")), output.width);
  }
  if (!environment.vocabulary.empty()) {
    text += "\nWords that it knows, for --text (write them like this, no full stops):\n";
    text += paragraph(fmt::format("{}", fmt::join(environment.vocabulary, ", ")), output.width);
  }
  return text;
}

// One lesson: its summary, the tokens that its text may have, its steps.
std::string about(const Lesson& lesson, const Terminal& output) {
  std::string text = sanitise(lesson.title) + "\n";
  text += paragraph(lesson.summary, output.width);
  if (!lesson.source.empty()) text += paragraph("Source: " + lesson.source, output.width);
  text += text_and_vocabulary(lesson.recipe.environment, output);
  text += "\nSteps:\n" + steps_of(lesson, output.width);
  return text + fmt::format("\nWalk it with: qkv run {}\n", sanitise(lesson.where));
}

// One name per line, for shells: the lessons of the course, or the steps of one lesson.
std::string names_of(const LessonsOptions& options, const std::vector<Lesson>& lessons) {
  const auto names = options.lesson.empty()
                         ? mapped(lessons, &Lesson::name)
                         : mapped(lessons.front().recipe.steps, &StepRecipe::name);
  return fmt::format("{}\n", fmt::join(names, "\n"));
}

std::string source_of(const std::string& name) {
  const auto* built_in = find_by(built_in_lessons(), name, &BuiltInLesson::name);
  if (built_in) return std::string(built_in->toml);
  find_lesson(name);  // throws with the nearest name, if there is no such file either
  throw InputError("{} is a file of your own already; --source prints a built-in lesson",
                   sanitise(name));
}

std::vector<Lesson> wanted_lessons(const LessonsOptions& options) {
  if (!options.lesson.empty()) {
    ParsedLesson reading = find_lesson(options.lesson);
    if (!reading.faults.empty()) load_lesson(options.lesson);  // throws all faults
    return {std::move(reading.lesson)};
  }
  return mapped(built_in_lessons(), [](const BuiltInLesson& built_in) {
    return find_lesson(std::string(built_in.name)).lesson;
  });
}

std::string listing(const LessonsOptions& options, const CommonOptions& common) {
  if (options.source) return source_of(options.lesson);
  if (options.lesson.empty() && !options.names && !options.json && !options.all) return overview();
  const std::vector<Lesson> lessons = wanted_lessons(options);
  if (options.names) return names_of(options, lessons);
  if (options.json) return json_document(mapped(lessons, json_of));
  const Terminal output = output_terminal(common.colour);
  return options.lesson.empty() ? course(lessons, output) : about(lessons.front(), output);
}

int run(const LessonsOptions& options, const CommonOptions& common) {
  print(listing(options, common));
  return 0;
}

void declare(CLI::App& app, LessonsOptions& options) {
  app.add_option("LESSON", options.lesson, "Only this lesson: its words and its steps");
  app.add_flag("--source", options.source, "Print the lesson's file, to learn from or to change")
      ->needs("LESSON");
  app.add_flag("--json", options.json, "As JSON, for programs")->excludes("--source");
  app.add_flag("--all", options.all, "Each lesson of the course, with what it teaches")
      ->excludes("LESSON")
      ->excludes("--json");
  app.add_flag("--names", options.names,
               "Only the names, one on each line: of the lessons, or of a lesson's steps")
      ->excludes("--json")
      ->excludes("--source");
}

}  // namespace

std::string lesson_names_by_group() {
  constexpr std::size_t column = 16;  // where the names begin
  const std::size_t room = output_terminal(ColourMode::never).width;
  const NameViews names(built_in_lessons(), &BuiltInLesson::name);
  const auto begins_group = [](std::string_view name) {
    return contains(lesson_groups, name, &LessonGroup::first);
  };
  std::string text;
  for (const LessonGroup& group : lesson_groups) {
    const auto first = std::ranges::find(names, group.first);
    const auto end = std::find_if(first + 1, names.end(), begins_group);
    text += hanging_lines(padded_right(fmt::format("  {}", group.title), column),
                          wrapped(fmt::to_string(fmt::join(first, end, ", ")),
                                  room > 2 * column ? room - column : column),
                          column);
  }
  return text;
}

constinit const Command lessons_command{
    .name = "lessons",
    .summary = "the course: each lesson, what it teaches, its steps",
    .examples =
        "  qkv lessons\n"
        "  qkv lessons the-fat-cat                      its words and its steps\n"
        "  qkv lessons the-fat-cat --source > mine.toml a lesson file to change\n"
        "  qkv lessons --json\n",
    .setup = set_up_command<LessonsOptions, declare, run>,
};

}  // namespace qkv::inline cli
