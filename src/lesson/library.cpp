#include "lesson/library.hpp"

#include <system_error>

#include "lesson/model/predictions.hpp"
#include "lesson/prose.hpp"
#include "text/unicode.hpp"

namespace qkv::inline lesson {

std::optional<std::string_view> LessonFiles::built_in(std::string_view name) const {
  const BuiltInFile* found = find_by(program, name, &BuiltInFile::name);
  return found ? std::optional(found->bytes) : std::nullopt;
}

std::string fault_line(const Lesson& lesson, const Fault& fault) {
  return fmt::format("{}:{}:{}: {}{}", lesson.where, fault.place.line, fault.place.column,
                     fault.kind == Fault::Kind::advice ? "advice: " : "",
                     elide_middle(fault.message));
}

namespace {

// A lesson is prose and small matrices; larger ones belong in separate files.
constexpr std::size_t largest_lesson = std::size_t{16} << 20;

[[noreturn]] void refuse_faults(const Lesson& lesson, const std::vector<Fault>& faults) {
  constexpr std::size_t most = 20;  // more would not be fixed at once
  auto lines = mapped(std::span(faults).first(std::min(most, faults.size())),
                      [&](const Fault& fault) { return fault_line(lesson, fault); });
  if (faults.size() > most) {
    lines.push_back(
        fmt::format("… and {} more faults: qkv lint {}", faults.size() - most, lesson.where));
  }
  throw InputError(lines);
}

[[noreturn]] void refuse_name(const std::string& name) {
  const NameViews names(built_in_lessons(), &BuiltInLesson::name);
  std::error_code error;
  std::vector<std::string> files;
  for (auto entry = std::filesystem::directory_iterator(".", error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    files.push_back(entry->path().filename().string());
  }
  std::ranges::sort(files);
  throw InputError(
      "there is no lesson or file \"{}\"; {}", name,
      did_you_mean(
          name, names,
          did_you_mean(name, files,
                       "qkv lessons lists the lessons, and the path of a file will do too")));
}

// "h0.*" means each step of a layer and their gradients; "*.context" each layer's context.
RequestedSteps with_whole_layers(const RequestedSteps& asked, const Recipe& recipe) {
  RequestedSteps wanted;
  for (const std::string& name : asked) {
    const bool is_layer = name.ends_with(".*");
    const bool is_in_each = name.starts_with("*.");
    if (!is_layer && !is_in_each) wanted.push_back(name);
    for (const StepRecipe& step : recipe.steps) {
      if ((is_layer && is_in_layer(step.name, name.substr(0, name.size() - 2))) ||
          (is_in_each && step.name.ends_with(name.substr(1)))) {
        wanted.push_back(step.name);
      }
    }
  }
  return wanted;
}

// Adds the matrices that the requested steps' prose quotes. If a requested name is unknown, all
// steps are requested, so that the message can suggest a name.
RequestedSteps with_words(const RequestedSteps& asked, const Recipe& recipe,
                          const std::vector<StepText>& texts) {
  const RequestedSteps listed = with_whole_layers(asked, recipe);
  RequestedSteps wanted = listed;
  for (const std::string& name : listed) {
    if (given_in(recipe, name)) continue;
    const std::optional<std::size_t> step = step_index(recipe, name);
    if (!step) return {};
    const StepText& text = texts[*step];
    for (const Prose* prose : {&text.say, &text.notice, &text.questions, &text.answers}) {
      std::ranges::move(names_in(prose->text), std::back_inserter(wanted));
    }
  }
  return wanted;
}

// Evaluates the recipe and drops its givens: the trace holds them, and a model's take gigabytes.
Evaluation evaluate_once(Recipe& recipe, const RequestedSteps& wanted) {
  std::vector<Given> givens = std::exchange(recipe.givens, {});
  Recipe whole = recipe;
  whole.givens = std::move(givens);
  return evaluate_all(std::move(whole), wanted);
}

LoadedLesson load_as_written(const std::string& name_or_path, const RequestedSteps& wanted) {
  ParsedLesson reading = find_lesson(name_or_path);
  Lesson& lesson = reading.lesson;
  Evaluation evaluation =
      evaluate_once(lesson.recipe, with_words(wanted, lesson.recipe, lesson.texts));
  for (const StepFault& fault : evaluation.faults) {
    reading.faults.push_back({lesson.texts[fault.step].place, fault.message});
  }
  if (!reading.faults.empty()) refuse_faults(lesson, reading.faults);
  return {std::move(lesson), std::move(evaluation.trace)};
}

// A step that was set is a given now, so its prose is dropped.
void keep_texts_of(const Recipe& recipe, Lesson& lesson) {
  std::vector<StepText> texts;
  for (std::size_t s = 0; s < lesson.recipe.steps.size(); ++s) {
    const bool is_left = step_in(recipe, lesson.recipe.steps[s].name) != nullptr;
    if (is_left) texts.push_back(std::move(lesson.texts[s]));
  }
  while (texts.size() < recipe.steps.size()) texts.emplace_back().is_made = true;  // gradients
  lesson.texts = std::move(texts);
}

// The original lesson with a changed recipe.
LoadedLesson changed(std::shared_ptr<const LoadedLesson> own, Recipe recipe, Trace trace) {
  Lesson lesson = own->lesson;
  keep_texts_of(recipe, lesson);
  lesson.given_places.resize(trace.givens.size());
  lesson.recipe = std::move(recipe);  // without its givens
  lesson = without_stale_prose(std::move(lesson), own->trace, trace);
  return {std::move(lesson), std::move(trace), std::move(own)};
}

// Rebuilds the gradient steps after steps of the recipe became givens: no gradient flows through
// those to their former operands.
void rebuild_backward(Recipe& recipe, const Lesson& own) {
  Recipe there = recipe;
  std::erase_if(there.steps, [](const StepRecipe& step) { return is_gradient(*step.operation); });
  std::erase_if(there.givens, [&](const Given& given) {  // a gradient that was set
    const auto step = step_index(own.recipe, given.name);
    return step && is_gradient(*own.recipe.steps[*step].operation);
  });
  recipe.steps = there.steps;
  if (!step_in(recipe, own.backward->of)) return;
  for (StepRecipe& step : backward_steps(there, *own.backward)) {
    if (!given_in(recipe, step.name)) recipe.steps.push_back(std::move(step));
  }
}

LoadedLesson with_changes(std::shared_ptr<const LoadedLesson> own, const LessonChanges& changes,
                          const RequestedSteps& wanted) {
  Recipe recipe = recipe_of(*own);
  if (changes.text) set_text(recipe, *changes.text);
  if (changes.ids)
    recipe.environment.cut =
        tokenised_ids(*changes.ids, own->trace.at("probabilities").axes.back().labels);
  const bool renamed = (changes.text || changes.ids) && changes.change_numbers();
  const Trace named = renamed ? evaluate_all(recipe).trace : Trace{};
  for (const std::string& change : changes.patch) {
    patch_matrix(recipe, change, renamed ? named : own->trace);
  }
  set_all(recipe, changes.set, renamed ? named : own->trace, renamed || !changes.patch.empty());
  if (own->lesson.backward) rebuild_backward(recipe, own->lesson);
  Evaluation evaluation = evaluate_once(recipe, with_words(wanted, recipe, own->lesson.texts));
  // Faults of a changed text or number have no place in the lesson's file.
  if (!evaluation.faults.empty()) {
    throw InputError("{}: {}", changes.text ? "--text" : "--set",
                     evaluation.faults.front().message);
  }
  return changed(std::move(own), std::move(recipe), std::move(evaluation.trace));
}

// Adds the changed steps, which may be in a later layer.
RequestedSteps with_changed(RequestedSteps wanted, const LessonChanges& changes) {
  if (wanted.empty()) return wanted;
  wanted.insert(wanted.end(), changes.set.begin(), changes.set.end());
  wanted.insert(wanted.end(), changes.patch.begin(), changes.patch.end());
  return wanted;
}

// The same by the recipe's step names: an option belongs to its step.
RequestedSteps with_changed(RequestedSteps wanted, const LessonChanges& changes,
                            const Recipe& recipe) {
  if (wanted.empty()) return wanted;
  for (const std::vector<std::string>* all : {&changes.set, &changes.patch}) {
    for (const std::string& change : *all) {
      const std::string_view name = set_name(recipe, change);
      if (name.find('*') == name.npos) wanted.emplace_back(name);
    }
  }
  return wanted;
}

// The changes that apply while decoding: rows of tokens not yet generated are left out.
LessonChanges while_decoding(const LessonChanges& changes, const Recipe& recipe) {
  LessonChanges now{.text = {}, .set = changes.set, .patch = changes.patch};
  std::erase_if(now.patch, [&](const std::string& change) {
    return step_in(recipe, set_name(recipe, change)) != nullptr;
  });
  return now;
}

// Evaluates the model's lesson as far as requested, with the changes of its numbers.
LoadedLesson evaluate_lesson(Lesson lesson, const LessonChanges& changes,
                             const RequestedSteps& wanted) {
  Evaluation evaluation =
      evaluate_once(lesson.recipe, with_words(wanted, lesson.recipe, lesson.texts));
  if (!evaluation.faults.empty()) throw InputError(evaluation.faults.front().message);
  LoadedLesson loaded{std::move(lesson), std::move(evaluation.trace)};
  if (!changes.change_numbers()) return loaded;
  return with_changes(std::make_shared<const LoadedLesson>(std::move(loaded)), changes, wanted);
}

// Returns the text that the model has appended, as readable text.
std::string continuation_text(const ModelInput& input, const TokenisedText& cut,
                              std::size_t new_tokens, const Recipe& recipe) {
  const StepRecipe* cuts = step_in(recipe, "token_ids");
  const bool has_blanks = cuts && cuts->options.word("method", "words") == "words";
  std::string before;
  std::string after;
  for (std::size_t i = 0; i < cut.ids.size(); ++i) {
    const bool is_new = i + new_tokens >= cut.ids.size();
    std::string& text = is_new ? after : before;
    if (has_blanks && (is_new || i > 0)) text += ' ';
    text += cut.words[i];
  }
  return fmt::format("The model has continued \"{}\" with \"{}\".", input.text.value_or(before),
                     after);
}

}  // namespace

Recipe recipe_of(const LoadedLesson& loaded) {
  Recipe recipe = loaded.lesson.recipe;
  recipe.givens = loaded.trace.givens;
  return recipe;
}

ParsedLesson find_lesson(const std::string& name_or_path) {
  for (const BuiltInLesson& lesson : built_in_lessons()) {
    if (lesson.name == name_or_path) {
      return read_lesson(lesson.toml, std::string(lesson.name), LessonFiles(built_in_files()));
    }
  }
  const std::filesystem::path path(name_or_path);
  const bool looks_like_path =
      name_or_path.find('/') != std::string::npos || name_or_path.ends_with(".toml");
  if (!looks_like_path && !std::filesystem::exists(status_at(path))) refuse_name(name_or_path);
  return read_lesson(read_bytes(path, largest_lesson), name_or_path, path.parent_path());
}

LoadedLesson load_lesson(const std::string& name_or_path, const LessonChanges& changes,
                         const RequestedSteps& wanted) {
  if (!changes.text && !changes.change_numbers()) return load_as_written(name_or_path, wanted);
  return with_changes(std::make_shared<const LoadedLesson>(load_as_written(name_or_path, wanted)),
                      changes, wanted);
}

LoadedLesson continue_lesson(const std::string& name_or_path, const LessonChanges& changes,
                             std::size_t new_tokens) {
  const auto own = std::make_shared<const LoadedLesson>(load_as_written(name_or_path, {}));
  const LessonChanges writing = while_decoding(changes, own->lesson.recipe);
  const ModelInput start{changes.text ? changes.text : own->lesson.recipe.environment.texts.front(),
                         {}};
  const ModelInput whole = greedy_decoding(start, new_tokens, [&](const ModelInput& input) {
    return with_changes(
        own, {.text = input.text, .set = writing.set, .patch = writing.patch, .ids = input.ids},
        {});
  });
  LessonChanges all = changes;
  all.text = {};
  all.ids = whole.ids;
  LoadedLesson loaded = with_changes(own, all, {});
  loaded.lesson.summary =
      continuation_text(start, *loaded.trace.environment.cut, new_tokens, loaded.lesson.recipe);
  return loaded;
}

LoadedLesson load_model(const std::string& path, const LessonChanges& changes,
                        const ModelSettings& settings, const RequestedSteps& asked) {
  const ModelInput input{changes.text, changes.ids};
  if (!std::filesystem::exists(status_at(path))) {
    refuse(path, "there is no such file: check the name and the directory");
  }
  if (!input.text && !input.ids) {
    throw InputError("{}: a model needs a text to read; add --text \"…\", or --ids 3,1,4",
                     printable(path));
  }
  const ModelInput whole =
      greedy_decoding(input, settings.new_tokens, [&](const ModelInput& so_far) {
        Lesson lesson = lesson_of_model(path, so_far, settings, {});
        const LessonChanges writing = while_decoding(changes, lesson.recipe);
        const RequestedSteps wanted =
            with_changed(steps_for_decoding(lesson.recipe), writing, lesson.recipe);
        return evaluate_lesson(std::move(lesson), writing, wanted);
      });
  Lesson lesson = lesson_of_model(path, whole, settings, with_changed(asked, changes));
  if (settings.new_tokens > 0) {
    if (input.text) lesson.recipe.environment.texts = {*input.text};
    lesson.summary = continuation_text(input, *lesson.recipe.environment.cut, settings.new_tokens,
                                       lesson.recipe);
  }
  const RequestedSteps wanted = with_changed(asked, changes, lesson.recipe);
  return evaluate_lesson(std::move(lesson),
                         {.text = {}, .set = changes.set, .patch = changes.patch}, wanted);
}

LoadedLesson with_cell_set(const std::shared_ptr<const LoadedLesson>& loaded,
                           const std::string& change) {
  Recipe recipe = recipe_of(*loaded);
  if (!set_option(recipe, change)) set_cell(recipe, change, loaded->trace, Settable::givens);
  Evaluation evaluation = evaluate_once(recipe, {});
  if (!evaluation.faults.empty()) throw InputError(evaluation.faults.front().message);
  LoadedLesson result =
      changed(loaded->own ? loaded->own : loaded, std::move(recipe), std::move(evaluation.trace));
  result.lesson.asked = loaded->lesson.asked + " --set " + shell_word(change);
  return result;
}

}  // namespace qkv::inline lesson
