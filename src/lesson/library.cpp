#include "lesson/library.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "formats/read_file.hpp"
#include "formats/shell_word.hpp"
#include "lesson/prose.hpp"
#include "lesson/set.hpp"
#include "lesson/true_words.hpp"
#include "text/error.hpp"
#include "text/nearest.hpp"
#include "trace/evaluate.hpp"

namespace qkv {
namespace {

// A lesson is words and small matrices; larger ones belong in files of their own.
constexpr std::size_t largest_lesson = std::size_t{16} << 20;

std::string joined(const Lesson& lesson, const std::vector<Fault>& faults) {
  constexpr std::size_t most = 20;  // as many as are mended at a time
  std::string lines;
  for (std::size_t f = 0; f < std::min(most, faults.size()); ++f) {
    if (!lines.empty()) lines += '\n';
    lines += fault_line(lesson, faults[f]);
  }
  if (faults.size() > most) {
    lines += fmt::format("\n… and {} more faults: qkv lint {}", faults.size() - most, lesson.where);
  }
  return lines;
}

[[noreturn]] void refuse(const std::string& name) {
  std::vector<std::string_view> names;
  for (const BuiltInLesson& lesson : built_in_lessons()) names.push_back(lesson.name);
  throw InputError(fmt::format(
      "there is no lesson \"{}\"; {}", name,
      did_you_mean(name, names,
                   "qkv lessons lists them, and the path of a lesson file will do too")));
}

// What is wanted, and the matrices that its words speak of. All there is where what is wanted
// is not there: the message names what is near.
WantedSteps with_words(const WantedSteps& asked, const Recipe& recipe,
                       const std::vector<StepText>& texts) {
  WantedSteps wanted = asked;
  for (const std::string& name : asked) {
    const auto is_given = [&](const Given& given) { return given.name == name; };
    if (std::ranges::any_of(recipe.givens, is_given)) continue;
    const std::optional<std::size_t> step = find_step(recipe, name);
    if (!step) return {};
    for (const Prose* prose : {&texts[*step].say, &texts[*step].notice, &texts[*step].questions}) {
      std::ranges::move(names_in(prose->text), std::back_inserter(wanted));
    }
  }
  return wanted;
}

// Works the recipe out and leaves it without its givens: the trace has them then, and a model's
// take gigabytes.
Evaluation evaluate_once(Recipe& recipe, const WantedSteps& wanted) {
  std::vector<Given> givens = std::exchange(recipe.givens, {});
  Recipe whole = recipe;
  whole.givens = std::move(givens);
  return evaluate_all(std::move(whole), wanted);
}

// The recipe again, with its givens.
Recipe recipe_of(const LoadedLesson& loaded) {
  Recipe recipe = loaded.lesson.recipe;
  recipe.givens = loaded.trace.givens;
  return recipe;
}

LoadedLesson load_as_written(const std::string& name_or_path, const WantedSteps& wanted) {
  LessonReading reading = find_lesson(name_or_path);
  Lesson& lesson = reading.lesson;
  Evaluation evaluation =
      evaluate_once(lesson.recipe, with_words(wanted, lesson.recipe, lesson.texts));
  for (const StepFault& fault : evaluation.faults) {
    reading.faults.push_back({lesson.texts[fault.step].place, fault.message});
  }
  if (!reading.faults.empty()) throw InputError(joined(lesson, reading.faults));
  return {std::move(lesson), std::move(evaluation.trace)};
}

// The lesson as it was written, with what a person has made of its recipe.
LoadedLesson changed(std::shared_ptr<const LoadedLesson> own, Recipe recipe, Trace trace) {
  Lesson lesson = own->lesson;
  lesson.recipe = std::move(recipe);  // without its givens
  lesson = with_true_words(std::move(lesson), own->trace, trace);
  return {std::move(lesson), std::move(trace), std::move(own)};
}

LoadedLesson with_changes(std::shared_ptr<const LoadedLesson> own, const LessonChanges& changes,
                          const WantedSteps& wanted) {
  Recipe recipe = recipe_of(*own);
  if (changes.text) set_text(recipe, *changes.text);
  const bool renamed = changes.text && !changes.set.empty();
  const Trace named = renamed ? evaluate_all(recipe).trace : Trace{};
  for (const std::string& change : changes.set) {
    set_cell(recipe, change, renamed ? named : own->trace);
  }
  Evaluation evaluation = evaluate_once(recipe, with_words(wanted, recipe, own->lesson.texts));
  // What is wrong with another text or another number stands nowhere in the lesson's file.
  if (!evaluation.faults.empty()) {
    throw InputError(fmt::format("{}: {}", changes.text ? "--text" : "--set",
                                 evaluation.faults.front().message));
  }
  return changed(std::move(own), std::move(recipe), std::move(evaluation.trace));
}

}  // namespace

LessonReading find_lesson(const std::string& name_or_path) {
  for (const BuiltInLesson& lesson : built_in_lessons()) {
    if (lesson.name == name_or_path) {
      return read_lesson(lesson.toml, std::string(lesson.name), LessonFiles(built_in_files()));
    }
  }
  const std::filesystem::path path(name_or_path);
  std::error_code ignored;
  const bool looks_like_path =
      name_or_path.find('/') != std::string::npos || name_or_path.ends_with(".toml");
  if (!looks_like_path && !std::filesystem::exists(path, ignored)) refuse(name_or_path);
  return read_lesson(read_bytes(path, largest_lesson), name_or_path, path.parent_path());
}

LoadedLesson load_lesson(const std::string& name_or_path, const LessonChanges& changes,
                         const WantedSteps& wanted) {
  if (!changes.text && changes.set.empty()) return load_as_written(name_or_path, wanted);
  return with_changes(std::make_shared<const LoadedLesson>(load_as_written(name_or_path, wanted)),
                      changes, wanted);
}

namespace {

// The text that a model goes on from, and the ids that it stands for.
struct Writing {
  std::string text;
  std::vector<double> ids = {};  ///< empty before the model has written anything
};

// Pieces of words that stand side by side may be other tokens when the text is read again.
void refuse_other_ids(const Trace& trace, const Writing& writing) {
  if (writing.ids.empty() || std::ranges::equal(trace.at("token_ids").values, writing.ids)) return;
  throw InputError(fmt::format(
      "--continue: what the model has written, \"{}\", is read as other tokens than those it "
      "chose; take fewer",
      printable(writing.text)));
}

// The likeliest token after the text of a model's lesson is written behind it.
void write_on(Writing& writing, Lesson lesson) {
  constexpr std::string_view readout = "probabilities";
  const Evaluation evaluation = evaluate_once(lesson.recipe, {std::string(readout)});
  if (!evaluation.faults.empty()) throw InputError(evaluation.faults.front().message);
  refuse_other_ids(evaluation.trace, writing);
  const Tensor& shares = evaluation.trace.at(readout);
  const auto last = std::span(shares.values).last(shares.columns());
  const auto best = static_cast<std::size_t>(std::ranges::max_element(last) - last.begin());
  const std::string_view token = shares.axes.back().label(best, 0);
  if (token.empty() || token.find("<0x") != token.npos) {
    throw InputError(fmt::format(
        "--continue: the likeliest token is id {}, which is no text by itself; take fewer", best));
  }
  const bool has_blanks = lesson.recipe.steps.front().options.word("method", "words") == "words";
  writing.text += (has_blanks ? " " : "") + std::string(token);
  const auto& ids = evaluation.trace.at("token_ids").values;
  writing.ids.assign(ids.begin(), ids.end());
  writing.ids.push_back(static_cast<double>(best));
}

// The text with what the model writes after it, token by token.
Writing continued(const std::string& path, std::string text, const ModelSettings& settings) {
  Writing writing{.text = std::move(text)};
  for (std::size_t i = 0; i < settings.further; ++i) {
    write_on(writing, lesson_of_model(path, writing.text, settings, {}));
  }
  return writing;
}

// The steps that are wanted, and the givens that are changed: they may be a later layer's.
WantedSteps with_changed(WantedSteps wanted, const std::vector<std::string>& changes) {
  if (wanted.empty()) return wanted;
  for (const std::string& change : changes) wanted.push_back(change.substr(0, change.find('[')));
  return wanted;
}

}  // namespace

LoadedLesson load_model(const std::string& path, const LessonChanges& changes,
                        const ModelSettings& settings, const WantedSteps& wanted) {
  if (!changes.text) {
    throw InputError(
        fmt::format("{}: a model needs a text to read; add --text \"…\"", printable(path)));
  }
  const Writing writing = continued(path, *changes.text, settings);
  Lesson lesson = lesson_of_model(path, writing.text, settings, with_changed(wanted, changes.set));
  if (settings.further > 0) {
    lesson.summary = fmt::format("The model has continued \"{}\" with \"{}\".", *changes.text,
                                 writing.text.substr(changes.text->size()));
  }
  Evaluation evaluation =
      evaluate_once(lesson.recipe, with_words(wanted, lesson.recipe, lesson.texts));
  if (!evaluation.faults.empty()) throw InputError(evaluation.faults.front().message);
  refuse_other_ids(evaluation.trace, writing);
  LoadedLesson loaded{std::move(lesson), std::move(evaluation.trace)};
  if (changes.set.empty()) return loaded;
  return with_changes(std::make_shared<const LoadedLesson>(std::move(loaded)),
                      {.text = {}, .set = changes.set}, wanted);
}

LoadedLesson with_cell_set(const std::shared_ptr<const LoadedLesson>& loaded,
                           const std::string& change) {
  Recipe recipe = recipe_of(*loaded);
  set_cell(recipe, change, loaded->trace);
  Evaluation evaluation = evaluate_once(recipe, {});
  if (!evaluation.faults.empty()) throw InputError(evaluation.faults.front().message);
  LoadedLesson result =
      changed(loaded->own ? loaded->own : loaded, std::move(recipe), std::move(evaluation.trace));
  result.lesson.asked = loaded->lesson.asked + " --set " + shell_word(change);
  return result;
}

}  // namespace qkv
