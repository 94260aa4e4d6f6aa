#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "lesson/lesson.hpp"
#include "model/model.hpp"

namespace qkv {

/// What somebody says of a model beside its file, where the file doesn't tell.
struct ModelSettings {
  std::optional<std::string> family;
  std::optional<std::size_t> heads;
  std::vector<std::string> vocabulary;
  std::optional<std::string> tokenizer;
  /// The last step that is wanted: the layers after its own are not even read. Example:
  /// "h2.scores".
  std::string last_step;
};

/// Whether this names a file of trained weights, to be walked as if it were a lesson.
bool is_model_file(const std::string& name_or_path);

/// A trained model and a text as a lesson. Throws InputError as model.hpp says.
Lesson lesson_of_model(const std::string& path, const std::string& text,
                       const ModelSettings& settings);

/// Puts the model's givens, steps and words at the end of the lesson's.
void add_model(Lesson& lesson, Model model, Place place);

/// The layers that `step` needs: 3 for "h2.scores"; all of them for a step that is in no layer.
std::optional<std::size_t> layers_before(std::string_view step);

}  // namespace qkv
