#include "cli/options.hpp"
#include "text/number.hpp"
#include "text/unicode.hpp"
#include "verdicts/verdicts.hpp"

namespace qkv::inline cli {
namespace {

namespace fs = std::filesystem;

struct CompareOptions {
  std::string actual;
  std::string desired;
  LessonSelection lesson;  ///< the model, and the changes to it or to a lesson
  ToleranceChoice tolerance;
  NameChoice names;
  std::vector<std::string> tolerances;  ///< of steps: "h*.scores=1e-4"
  std::optional<std::string> require;
  std::optional<std::size_t> batch;
  bool bisect = false;
  bool columns = false;  ///< accept tokens as columns
  bool strict = false;
  bool all = false;
  bool json = false;
};

// True for a directory of a trained model, as `--model` takes it.
bool is_model_directory(const std::string& name) {
  return fs::is_directory(status_at(name)) &&
         (fs::exists(status_at(fs::path(name) / "model.safetensors")) ||
          fs::exists(status_at(fs::path(name) / "model.safetensors.index.json"))) &&
         is_model(name);
}

// True for a lesson of the course, a model with a text, and a path that holds no numbers.
bool is_lesson(const std::string& name, const CompareOptions& options) {
  if (!options.lesson.model.empty() && name == options.lesson.model) return true;
  const LessonChanges& changes = options.lesson.changes;
  const bool has_text = changes.text || changes.ids;
  if (has_text && is_model_file(name) && is_model(name)) return true;
  if (has_text && is_model_directory(name)) return true;
  if (contains(built_in_lessons(), name, &BuiltInLesson::name)) return true;
  return !fs::is_directory(status_at(name)) && !is_readable(name) && !is_archive(name);
}

bool is_run_model(const std::string& name, const CompareOptions& options) {
  return is_lesson(name, options) &&
         (name == options.lesson.model || is_model_file(name) || is_model_directory(name));
}

// A finite number of 0 or more.
std::optional<double> tolerance_in(std::string_view text) {
  const auto value = parse_number<double>(text);
  return value && std::isfinite(*value) && *value >= 0 ? value : std::nullopt;
}

// "h*.scores=1e-4".
ToleranceChoice tolerance_of(const CompareOptions& options) {
  ToleranceChoice choice = options.tolerance;
  for (const std::string& text : options.tolerances) {
    const std::size_t equals = text.rfind('=');
    choice.of_steps.emplace_back(text.substr(0, equals),
                                 tolerance_in(std::string_view(text).substr(equals + 1)).value());
  }
  return choice;
}

ComparedSide side_of_files(const std::string& name, const OptionsOfFile& options_of,
                           const std::optional<LoadedLesson>& lesson,
                           const CompareOptions& options) {
  if (!fs::exists(status_at(name)))
    throw InputError("{}: there is no such file or directory", name);
  ArrayCollection arrays = load_arrays(name, options_of);
  std::string scheme;
  if (lesson) {
    const NameOptions names = names_of(options.names);
    const auto is_mapped = [&](std::string_view array) {
      return mapped_name(names.maps, array).has_value();
    };
    scheme = adopt_scheme(names.scheme, lesson->trace, is_mapped, arrays.matrices);
    for (UnreadableFile& file : arrays.unreadable_files) {
      const auto ours = steps_by_scheme(file.name, lesson->trace);
      if (!ours.empty()) file.name = ours.front();
    }
  }
  ComparedSide side = compared_side(name, std::move(arrays));
  side.scheme = std::move(scheme);
  if (is_model_directory(name))
    side.notes.emplace_back("only tensors are compared; with --text or --ids the model is run");
  return side;
}

struct Sides {
  ComparedSide actual;
  ComparedSide desired;
  std::optional<LoadedLesson> lesson;  ///< if exactly one side is a lesson
};

// A lesson is read first: its sizes tell labels from numbers in plain files.
Sides read_sides(const CompareOptions& options) {
  Sides sides;
  const auto lesson_side = [&](const std::string& name) {
    LessonSelection choice = options.lesson;
    choice.name = name;
    if (name != choice.model) choice.model = is_model_directory(name) ? name : "";
    const std::string& other = name == options.actual ? options.desired : options.actual;
    const bool is_of_model = !choice.model.empty() || is_model_file(name);
    if (!is_of_model && is_run_model(other, options)) {  // the settings are for the other side
      choice.settings = {};
      choice.changes.ids.reset();
    }
    LoadedLesson loaded = load(choice);
    ComparedSide side = compared_side(name, loaded.trace);
    sides.lesson = std::move(loaded);
    return side;
  };
  // A batch may have any number of sentences. Arrays that are to be renamed may be any step.
  const ReadLimit limit = options.batch                ? ReadLimit::none
                          : options.names.maps.empty() ? ReadLimit::by_its_step
                                                       : ReadLimit::by_largest_step;
  const bool actual_first = is_lesson(options.actual, options);
  const auto read = [&](const std::string& name, const ComparedSide& other) {
    return is_lesson(name, options)
               ? lesson_side(name)
               : side_of_files(name, options_of_files(other, limit), sides.lesson, options);
  };
  ComparedSide& first = actual_first ? sides.actual : sides.desired;
  ComparedSide& second = actual_first ? sides.desired : sides.actual;
  first = read(actual_first ? options.actual : options.desired, {});
  second = read(actual_first ? options.desired : options.actual, first);
  map_names(names_of(options.names).maps, first, second);
  adopt_names(first, second);
  if (!first.is_lesson) adopt_names_of_scheme(first, second);
  const bool has_first_theirs = !first.scheme.empty();  // it is laid out as ours
  match_layout(has_first_theirs ? second : first, options.batch, has_first_theirs ? first : second);
  if (sides.actual.is_lesson == sides.desired.is_lesson) sides.lesson.reset();
  if (sides.lesson && sides.lesson->trace.token_layout == TokenLayout::rows) {
    take_last_rows(first, second);
  }
  return sides;
}

// Only a lesson can diagnose the errors of a dump.
std::string check_command(const Sides& sides, const CompareOptions& options) {
  const bool actual = sides.actual.is_lesson;
  const bool is_renamed = !options.names.maps.empty() || options.batch;  // a long command
  if (is_renamed || !sides.lesson) return {};
  LessonSelection lesson = options.lesson;
  lesson.name = actual ? options.actual : options.desired;
  return fmt::format("qkv check {} {}", shell_words(lesson),
                     shell_word(actual ? options.desired : options.actual));
}

void print_notes(const ComparedSide& side) {
  MessageLimit messages;
  for (const std::string& note : side.notes) messages.print_error(side.name + ": " + note);
  for (const UnreadableFile& file : side.unreadable_files) {
    messages.print_error("skipped, since it holds no matrix: " + file.why);
  }
  messages.print_rest("messages about " + sanitise(side.name));
}

void refuse_unused_changes(const CompareOptions& options) {
  if (is_lesson(options.actual, options) || is_lesson(options.desired, options)) return;
  LessonSelection changes = options.lesson;
  changes.name = "-";
  const std::string words = shell_words(changes);  // those of a lesson without a name
  const auto option = split(words, ' ');
  if (option.size() == 1) return;
  throw InputError(
      "{} is for a lesson, or for a model that is run (with --text or --ids); neither of the two "
      "is",
      option[1]);
}

Required required_of(const CompareOptions& options) {
  if (!options.require) return {};
  if (options.require == "all") return {.all = true};
  std::string_view list = *options.require;
  if (list.ends_with(',')) list.remove_suffix(1);
  return {.names = mapped<std::string>(split(list, ','),
                                       [](std::string_view name) { return trimmed(name); })};
}

int run(const CompareOptions& options, const CommonOptions& common) {
  refuse_unused_changes(options);
  Sides sides = read_sides(options);
  const std::string_view of_lessons = options.bisect    ? "--bisect"
                                      : options.strict  ? "--strict"
                                      : options.columns ? "--columns"
                                                        : "";
  if (!of_lessons.empty() && !sides.lesson) {
    throw InputError(
        "{} needs a lesson or a model on one side, which tells how its steps are made, and a "
        "program's arrays on the other",
        of_lessons);
  }
  const ToleranceChoice tolerance = tolerance_of(options);
  ComparedSide& program = sides.actual.is_lesson ? sides.desired : sides.actual;
  std::optional<CheckReport> checked;
  if (sides.lesson) {
    checked = check_program(sides.lesson->lesson, sides.lesson->trace, tolerance, program,
                            options.columns);
  }
  Comparison comparison = compare(sides.actual, sides.desired, tolerance, std::move(checked));
  if (options.strict) {
    for (ComparedStep& step : comparison.steps) {
      if (step.judged && !step.judged->coarser_type.empty()) step.agreement = Agreement::differs;
    }
    comparison.first = first_difference(comparison, program.whole);
  }
  const ComparedSide& ours = sides.actual.is_lesson ? sides.actual : sides.desired;
  require(required_of(options), ours, comparison);
  if (options.bisect) comparison.bisection = bisect(comparison, sides.lesson->trace);
  for (const ComparedSide* side : {&sides.actual, &sides.desired}) print_notes(*side);
  if (options.json) {
    print(compared_json(comparison, sides.actual, sides.desired));
  } else {
    print(compared_text(comparison, sides.actual, sides.desired,
                        {.width = output_terminal(common.colour).width,
                         .all = options.all,
                         .check_command = check_command(sides, options)}));
  }
  return comparison.same() ? 0 : 1;
}

// An error message, or empty if `text` is a tolerance.
std::string check_tolerance(const std::string& text) {
  if (tolerance_in(text)) return {};
  return fmt::format("\"{}\" is not a tolerance; write a number of 0 or more, such as 1e-5", text);
}

std::string check_step_tolerance(const std::string& text) {
  const std::size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0) {
    return fmt::format("\"{}\" is not a step's tolerance; write it like 'h*.scores=1e-4'", text);
  }
  return check_tolerance(text.substr(equals + 1));
}

void add_tolerances(CLI::App& app, CompareOptions& options) {
  add_value(app, "--rtol", options.tolerance.relative, "X",
            "Relative tolerance, times DESIRED (with --atol alone: 1e-7)")
      ->check(check_tolerance);
  add_value(app, "--atol", options.tolerance.absolute, "X",
            "Absolute tolerance (with --rtol alone: 0)")
      ->check(check_tolerance);
  add_value(app, "--tol", options.tolerances, "STEP=X",
            "Absolute and relative tolerance of some steps: 'h*.scores=1e-4'")
      ->check(check_step_tolerance);
}

void declare(CLI::App& app, CompareOptions& options) {
  app.add_option("A", options.actual, "ACTUAL: a lesson, or a file, directory or zip of arrays")
      ->required();
  app.add_option("B", options.desired,
                 "DESIRED: the same, or left out with --model; rtol is relative to its numbers")
      ->required();
  add_tolerances(app, options);
  add_name_options(app, options.names);
  add_value(app, "--require", options.require, "STEPS",
            "Steps that must be there: all, or their names with commas between");
  add_number(app, "--batch", options.batch, CLI::Range(1, 1'000'000),
             "Which sentence of the dump's batch to compare, from 1");
  app.add_option("--text", options.lesson.changes.text, "Another sentence for the lessons");
  add_value(app, "--set", options.lesson.changes.set, "CELL=VALUE",
            "Another value for a given's cell of the lessons");
  add_model_options(app, options.lesson);
  app.add_flag(
      "--bisect", options.bisect,
      "Narrow down where the first difference starts: between which steps, and what to dump next");
  app.add_flag("--columns", options.columns, "Accept a dump whose tokens are columns");
  app.add_flag("--strict", options.strict,
               "Count a step in a coarser type than the rest as a difference");
  app.add_flag("--all", options.all, "Also list what only one side has");
  app.add_flag("--json", options.json, "As JSON, for programs");
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
        "  qkv compare dump.npz --model model.safetensors --text \"…\"\n"
        "  qkv compare dump.npz --model model/ --ids 3,1,4 --bisect\n",
    .setup = set_up_command<CompareOptions, declare, run>,
};

}  // namespace qkv::inline cli
