#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "lesson/file/toml_reader.hpp"
#include "lesson/lesson.hpp"
#include "model/model.hpp"

namespace qkv::inline lesson {

/// What a model is to say after each token of its text.
struct Targets {
  bool next_tokens = false;           ///< the token that follows; after the last one nothing is due
  std::vector<std::size_t> ids = {};  ///< else an id for each token

  bool operator==(const Targets&) const = default;
};

/// Ids with what they stand for. One that no text leads to has its number. `option` opens messages.
/// Throws InputError for an id that the model has not.
TokenisedText tokenised_text(const std::vector<std::size_t>& ids, std::size_t vocabulary,
                             const AxisLabels& tokens, std::string_view option);

/// Puts the given `targets`, the step `loss` and all gradients behind a model's steps. Where the
/// next tokens are the targets, the last row has none: `shift_logits` is all rows but that, as
/// PyTorch's programs have it. Throws InputError where the targets are not one for each token, or
/// are none of the model's `vocabulary` ids, which stand for `tokens`.
void add_loss(Lesson& lesson, const Targets& targets, std::size_t vocabulary,
              const AxisLabels& tokens);

/// The gradients again, where steps of the model's recipe have become givens: nothing flows through
/// those to what they were made of.
void rebuild_backward(Recipe& recipe, const Lesson& own);

/// What is said of a model beside its file, where the file doesn't tell.
struct ModelSettings {
  std::optional<std::string> family;
  std::optional<std::size_t> heads;
  std::vector<std::string> vocabulary;
  std::optional<std::string> tokenizer;
  std::size_t new_tokens = 0;           ///< so many tokens the model adds to the text
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

/// Reads a lesson's [model] table and the model that it names: `file`, beside the lesson; if wanted
/// `family`, `layers` (the first so many), `heads`, and `vocabulary` or `tokenizer`. Nothing, and a
/// fault, where the table or the model is wrong.
/// `vocabulary` is the lesson's own, which the model's tokens are where the table says nothing.
std::optional<Model> read_model_table(const toml::table& table, const LessonFiles& files,
                                      const std::vector<std::string>& vocabulary,
                                      TomlReader& reader);

}  // namespace qkv::inline lesson
