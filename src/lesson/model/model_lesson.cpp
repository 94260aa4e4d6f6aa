#include "lesson/model/model_lesson.hpp"

#include "lesson/file/tables.hpp"
#include "lesson/model/predictions.hpp"
#include "text/number.hpp"

namespace qkv::inline lesson {
namespace {

constexpr std::string_view model_keys[] = {"file",  "family",     "layers",
                                           "heads", "vocabulary", "tokenizer"};

// Reads a positive integer.
std::optional<std::size_t> count_under(const toml::table& table, std::string_view key,
                                       TomlReader& reader) {
  const auto number = reader.whole(table, key);
  if (number && *number > 0) return static_cast<std::size_t>(*number);
  if (!number) return {};
  return reader.fault(*table.get(key), "{} must be 1 or more", key);
}

// Returns the model's directory, as the lesson names it.
std::filesystem::path folder_of(const std::filesystem::path& path, const std::string& name) {
  const std::filesystem::path named = name;
  return std::filesystem::is_directory(status_at(path)) ? named : named.parent_path();
}

// Returns the file or directory that the lesson names. The model's other files beside it must not
// be links that lead out either.
std::filesystem::path file_beside(const std::filesystem::path& directory, const std::string& name) {
  constexpr std::string_view siblings[] = {"config.json",   "tokenizer.json", "vocab.json",
                                           "merges.txt",    "encoder.json",   "vocab.bpe",
                                           model_index_name};
  const std::filesystem::path path = file_of_lesson(directory, name);
  const std::filesystem::path near = folder_of(path, name);
  for (const std::string_view sibling : siblings) {
    if (std::filesystem::exists(status_at(directory / near / sibling))) {
      file_of_lesson(directory, (near / sibling).string());
    }
  }
  return path;
}

// The same for a model, whose weights may be files listed by its directory or its index.
std::filesystem::path model_beside(const std::filesystem::path& directory,
                                   const std::string& name) {
  const std::filesystem::path path = file_beside(directory, name);
  for (const std::filesystem::path& weights : model_files(path, name).weights) {
    file_of_lesson(directory, (folder_of(path, name) / weights.filename()).string());
  }
  return path;
}

// Returns the words for a step, by its name without the layer: LLaMA's relatives have some of their
// own.
ModelWords model_words(std::string_view step, bool is_llama) {
  static const toml::table all =
      toml::parse(LessonFiles(built_in_files()).built_in("model-steps.toml").value());
  const std::string_view name = step.substr(step.rfind('.') + 1);  // npos + 1 is 0
  const bool has_own = is_llama && all["llama"][name].is_table();
  const auto words = all[has_own ? "llama" : "all"][name];
  const auto text = [&](const char* key) { return words[key].value<std::string_view>().value(); };
  return {text("title"), text("say"), text("notice")};
}

// Returns the text's ids, labelled with their tokens.
Tensor read_ids(const Lesson& lesson) {
  Recipe recipe;
  recipe.environment = lesson.recipe.environment;
  recipe.steps = {lesson.recipe.steps.front()};
  return evaluate(recipe).steps.front().output;
}

// Returns a target for each row of the loss, labelled with its token.
Tensor targets_after(const Tensor& ids) {
  const std::size_t n = ids.values.size();
  if (n < 2) {
    throw InputError(
        "--targets next: nothing follows a text of one token; write a longer text, or the target's "
        "id: --targets 4");
  }
  std::vector<std::string> words;
  for (std::size_t i = 1; i < n; ++i) words.emplace_back(ids.axes.back().label(i, 0));
  const std::span<const double> all(ids.values);
  return {.axes = {Axis{"token", n - 1, AxisLabels(std::move(words))}},
          .values = Values(all.begin() + 1, all.end())};
}

Tensor targets_as_written(const TokenisedText& cut, const Tensor& ids) {
  const std::size_t n = ids.values.size();
  if (cut.ids.size() != n) {
    throw InputError("--targets: the text has {}, so write {}, not {}; or --targets next",
                     pluralise(n, "token"), pluralise(n, "target"), cut.ids.size());
  }
  return {.axes = {Axis{"token", n, AxisLabels(cut.words)}}, .values = Values(cut.ids)};
}

void add_step(Lesson& lesson, StepRecipe step, bool is_llama, Place place = {}) {
  const ModelWords words = model_words(step.name, is_llama);
  lesson.recipe.steps.push_back(std::move(step));
  lesson.texts.push_back({.place = place,
                          .title = std::string(words.title),
                          .general = true,
                          .say = {std::string(words.say), place},
                          .notice = {std::string(words.notice), place},
                          .otherwise = words});
}

// Returns a user's ids with their tokens. `option` is the prefix of messages. Throws InputError for
// an id outside the vocabulary.
TokenisedText tokenised_text(const std::vector<std::size_t>& ids, std::size_t vocabulary,
                             const AxisLabels& tokens, std::string_view option) {
  for (const std::size_t id : ids) {
    if (id < vocabulary) continue;
    throw InputError("{}: there is no id {}; the model's ids are 0 to {}", option, id,
                     vocabulary - 1);
  }
  return tokenised_ids(ids, tokens);
}

// Adds the given `targets`, the step `loss` and all gradients to a model's steps. If next tokens
// are the targets, the last row has none: `shift_logits` is all rows but that, as in PyTorch
// programs. Throws InputError if the targets are not one for each token, or not ids of the model's
// `vocabulary`, whose tokens are `tokens`.
void add_loss(Lesson& lesson, const Targets& targets, std::size_t vocabulary,
              const AxisLabels& tokens) {
  const Tensor ids = read_ids(lesson);
  Tensor expected =
      targets.next_tokens
          ? targets_after(ids)
          : targets_as_written(tokenised_text(targets.ids, vocabulary, tokens, "--targets"), ids);
  std::string logits = lesson.recipe.steps.back().of.front();
  if (targets.next_tokens) {
    const Options rows =
        Options::of("rows", OptionSpan{1, static_cast<double>(expected.values.size())});
    add_step(lesson,
             {"shift_logits", &take_operation, {std::exchange(logits, "shift_logits")}, rows},
             false);
  }
  lesson.recipe.givens.push_back({"targets", std::move(expected)});
  lesson.given_places.emplace_back();
  add_step(lesson, {"loss", &cross_entropy_operation, {std::move(logits), "targets"}, {}}, false);
  lesson.backward = BackwardSpec{.of = "loss"};
  for (StepRecipe& step : backward_steps(lesson.recipe, *lesson.backward)) {
    lesson.recipe.steps.push_back(std::move(step));
    lesson.texts.emplace_back().is_made = true;
  }
}

// Returns the number of layers up to the one of the step.
std::optional<std::size_t> layers_before(std::string_view step) {
  const std::size_t dot = step.find('.');
  if (!step.starts_with('h') || dot == step.npos) return {};
  const auto layer = parse_number<std::size_t>(step.substr(1, dot - 1));
  return layer ? std::optional(*layer + 1) : std::nullopt;
}

// How many layers these steps need; nothing if there are no steps, or one is in no layer.
std::optional<std::size_t> layers_needed(const std::vector<std::string>& steps) {
  std::optional<std::size_t> most;
  for (const std::string& step : steps) {
    const auto layers = layers_before(step);
    if (!layers) return {};
    most = std::max(most.value_or(0), *layers);
  }
  return most;
}

}  // namespace

std::optional<Model> read_model_table(const toml::table& table, const LessonFiles& files,
                                      const std::vector<std::string>& vocabulary,
                                      TomlReader& reader) {
  reader.refuse_unknown_keys(table, model_keys, "[model]");
  const auto file = reader.text(table, "file");
  if (!file) {
    if (!table.contains("file")) {
      reader.fault(table, "[model] needs the model's file: write file = \"model.safetensors\"");
    }
    return {};
  }
  ModelChoice choice;
  choice.where = *file;
  choice.built_in = files.built_in(*file);
  choice.architecture.family = reader.text(table, "family");
  choice.architecture.heads = count_under(table, "heads", reader);
  choice.layers = count_under(table, "layers", reader);
  if (!table.contains("tokenizer")) choice.tokeniser.vocabulary = vocabulary;
  if (table.contains("vocabulary")) {
    choice.tokeniser.vocabulary =
        reader.texts(table, "vocabulary").value_or(std::vector<std::string>{});
  }
  const auto tokenizer = reader.text(table, "tokenizer");
  try {
    if (!choice.built_in) choice.file = model_beside(files.directory, *file);
    if (tokenizer) choice.tokeniser.tokenizer = file_beside(files.directory, *tokenizer);
    return read_model(choice);
  } catch (const InputError& error) {
    return reader.fault(*table.get("file"), error.what());
  }
}

bool is_model_file(const std::string& name_or_path) {
  return name_or_path.ends_with(".safetensors") || name_or_path.ends_with("safetensors.index.json");
}

bool is_model(const std::string& path) {
  const Weights weights(model_files(path, path), path);
  const auto is_table = [](const SafetensorsEntry& entry) {
    return entry.name.ends_with("wte.weight") || entry.name.ends_with("embed_tokens.weight");
  };
  const auto is_result = [](const SafetensorsEntry& entry) {
    const std::string_view last = std::string_view(entry.name).substr(entry.name.rfind('.') + 1);
    return entry.name.starts_with("d_") ||
           (last != "weight" && !last.ends_with("bias") && last != "inv_freq");
  };
  const auto& tensors = weights.tensors();
  return std::ranges::any_of(tensors, is_table) &&
         4 * std::ranges::count_if(tensors, is_result) <= std::ssize(tensors);
}

bool is_in_layer(std::string_view step, std::string_view layer) {
  if (step.starts_with("d_")) step.remove_prefix(2);
  return step.starts_with(layer) && step.substr(layer.size()).starts_with('.');
}

void add_model(Lesson& lesson, Model model, Place place) {
  for (Given& given : model.recipe.givens) {
    lesson.unshown.push_back(given.name);
    lesson.given_places.push_back(place);
    lesson.recipe.givens.push_back(std::move(given));
  }
  for (StepRecipe& step : model.recipe.steps) {
    add_step(lesson, std::move(step), model.architecture.llama.has_value(), place);
  }
  lesson.recipe.omitted_steps = model.recipe.omitted_steps;
  lesson.recipe.environment.vocabulary = std::move(model.recipe.environment.vocabulary);
  lesson.recipe.environment.stores_out_in =
      model.architecture.family->storage == Family::Storage::out_in;
}

Lesson lesson_of_model(const std::string& path, const ModelInput& input,
                       const ModelSettings& settings, const std::vector<std::string>& wanted) {
  ModelChoice choice{.file = path,
                     .where = path,
                     .architecture = {settings.family, settings.heads},
                     .tokeniser = {settings.vocabulary, settings.tokenizer},
                     .enough_layers = layers_needed(wanted)};
  if (settings.targets) choice.enough_layers.reset();  // the loss comes after all layers
  Model model = read_model(choice);
  Lesson lesson;
  lesson.name = choice.file.stem().string();
  lesson.where = path;
  lesson.asked = shell_word(path);
  lesson.title = model.title;
  lesson.source = model.source;
  if (input.ids) {
    lesson.recipe.environment.cut =
        tokenised_text(*input.ids, model.architecture.vocabulary, model.tokens, "--ids");
  } else {
    lesson.recipe.environment.texts = {input.text.value_or("")};
  }
  const std::size_t vocabulary = model.architecture.vocabulary;
  const AxisLabels tokens = model.tokens;
  add_model(lesson, std::move(model), {});
  if (settings.targets) add_loss(lesson, *settings.targets, vocabulary, tokens);
  return lesson;
}

}  // namespace qkv::inline lesson
