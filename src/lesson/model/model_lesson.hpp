#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "lesson/lesson.hpp"
#include "lesson/model/targets.hpp"
#include "model/model.hpp"

namespace qkv {

/// What is said of a model beside its file, where the file doesn't tell.
struct ModelSettings {
  std::optional<std::string> family;
  std::optional<std::size_t> heads;
  std::vector<std::string> vocabulary;
  std::optional<std::string> tokenizer;
  std::size_t further = 0;              ///< so many tokens the model adds to the text
  std::optional<Targets> targets = {};  ///< of its loss; without them it has none

  bool operator==(const ModelSettings&) const = default;
};

/// What a model reads: a text to cut, or ids.
struct ModelInput {
  std::optional<std::string> text;
  std::optional<std::vector<std::size_t>> ids;
};

/// Whether this names a file of trained weights, to be walked as if it were a lesson.
bool is_model_file(const std::string& name_or_path);

/// Whether the file holds a model's weights rather than any other tensors. Throws InputError where
/// it can't be read.
bool is_model(const std::string& path);

/// A trained model and what it reads as a lesson, with its loss and gradients where there are
/// targets. Where steps are wanted and no gradients, layers after theirs are not even read. Throws
/// InputError as model.hpp and targets.hpp say.
Lesson lesson_of_model(const std::string& path, const ModelInput& input,
                       const ModelSettings& settings, const std::vector<std::string>& wanted);

/// Puts the model's givens, steps and words at the end of the lesson's.
void add_model(Lesson& lesson, Model model, Place place);

/// Whether the step is one of the layer's, "h0", or the gradient of one: "h0.Q", "d_h0.W_Q".
bool is_in_layer(std::string_view step, std::string_view layer);

/// How many layers these steps need: 3 for "h2.scores"; nothing where a step is in no layer, and
/// where there are no steps.
std::optional<std::size_t> layers_needed(const std::vector<std::string>& steps);

}  // namespace qkv
