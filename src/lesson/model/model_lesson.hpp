#pragma once

#include "lesson/lesson.hpp"
#include "model/model.hpp"

namespace qkv::inline lesson {

/// A model's target tokens, one after each token of its text.
struct Targets {
  bool next_tokens = false;           ///< the next token of the text; none after the last one
  std::vector<std::size_t> ids = {};  ///< otherwise an id for each token

  bool operator==(const Targets&) const = default;
};

/// The user's settings for a model, where its file does not say.
struct ModelSettings {
  std::optional<std::string> family;
  std::optional<std::size_t> heads;
  std::vector<std::string> vocabulary;
  std::optional<std::string> tokenizer;
  std::size_t new_tokens = 0;           ///< number of tokens that the model appends to the text
  std::optional<Targets> targets = {};  ///< of its loss; unset: no loss

  bool operator==(const ModelSettings&) const = default;
};

/// A model's input: a text to tokenise, or ids.
struct ModelInput {
  std::optional<std::string> text;
  std::optional<std::vector<std::size_t>> ids;
};

/// True if this names a file of trained weights, to be shown as a lesson.
bool is_model_file(const std::string& name_or_path);

/// True if the file holds a model's weights rather than other tensors, or both (more than a quarter
/// of its tensors are results). Throws InputError if it cannot be read.
bool is_model(const std::string& path);

/// Returns a trained model and its input as a lesson, with loss and gradients if there are targets.
/// If steps are wanted, and no gradients, layers after theirs are not read. Throws InputError as
/// model.hpp says, and for targets that do not fit the text.
Lesson lesson_of_model(const std::string& path, const ModelInput& input,
                       const ModelSettings& settings, const std::vector<std::string>& wanted);

/// Appends the model's givens, steps and prose to the lesson's.
void add_model(Lesson& lesson, Model model, Place place);

/// True if the step belongs to the layer "h0", or is a gradient in it: "h0.Q", "d_h0.W_Q".
bool is_in_layer(std::string_view step, std::string_view layer);

}  // namespace qkv::inline lesson
