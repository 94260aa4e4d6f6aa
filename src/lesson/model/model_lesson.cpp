#include "lesson/model/model_lesson.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "model/weights.hpp"
#include "text/error.hpp"
#include "text/shell_word.hpp"

namespace qkv {

bool is_model_file(const std::string& name_or_path) {
  return name_or_path.ends_with(".safetensors") || is_model_index(name_or_path);
}

bool is_model(const std::string& path) {
  const Weights weights(model_files(path, path), path);
  return std::ranges::any_of(weights.tensors(), [](const SafetensorsEntry& entry) {
    return entry.name.ends_with("wte.weight") || entry.name.ends_with("embed_tokens.weight");
  });
}

namespace {

// The number of layers up to the one that the step is in.
std::optional<std::size_t> layers_before(std::string_view step) {
  if (!step.starts_with('h')) return {};
  std::size_t layer = 0;
  const char* last = step.data() + step.size();
  const auto [end, error] = std::from_chars(step.data() + 1, last, layer);
  if (error != std::errc() || end == last || *end != '.') return {};
  return layer + 1;
}

}  // namespace

std::optional<std::size_t> layers_needed(const std::vector<std::string>& steps) {
  std::optional<std::size_t> most;
  for (const std::string& step : steps) {
    const auto layers = layers_before(step);
    if (!layers) return {};
    most = std::max(most.value_or(0), *layers);
  }
  return most;
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
  for (std::size_t s = 0; s < model.recipe.steps.size(); ++s) {
    lesson.recipe.steps.push_back(std::move(model.recipe.steps[s]));
    const ModelWords& words = model.words[s];
    lesson.texts.push_back({.place = place,
                            .title = std::string(words.title),
                            .cell = {},
                            .general = true,
                            .say = {std::string(words.say), place},
                            .notice = {std::string(words.notice), place},
                            .otherwise = words,
                            .questions = {}});
  }
  lesson.recipe.beyond = model.recipe.beyond;
  lesson.recipe.environment.vocabulary = std::move(model.recipe.environment.vocabulary);
}

Lesson lesson_of_model(const std::string& path, const ModelInput& input,
                       const ModelSettings& settings, const std::vector<std::string>& wanted) {
  ModelChoice choice{.file = path,
                     .where = path,
                     .architecture = {settings.family, settings.heads},
                     .tokeniser = {settings.vocabulary, settings.tokenizer},
                     .layers = {},
                     .enough_layers = layers_needed(wanted)};
  if (settings.targets) choice.enough_layers.reset();  // the loss comes after all of them
  Model model = read_model(choice);
  Lesson lesson;
  lesson.name = choice.file.stem().string();
  lesson.where = path;
  lesson.asked = shell_word(path);
  lesson.title = model.title;
  lesson.source = model.source;
  if (input.ids) {
    lesson.recipe.environment.cut =
        cut_text(*input.ids, model.architecture.vocabulary, model.tokens, "--ids");
  } else {
    lesson.recipe.environment.texts = {input.text.value_or("")};
  }
  const std::size_t vocabulary = model.architecture.vocabulary;
  const AxisLabels tokens = model.tokens;
  add_model(lesson, std::move(model), {});
  if (settings.targets) add_loss(lesson, *settings.targets, vocabulary, tokens);
  return lesson;
}

}  // namespace qkv
