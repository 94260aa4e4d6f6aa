#pragma once

#include <string_view>

#include "model/model.hpp"

namespace qkv {

/// What is said of a model's step, by its name without the layer: "scores" for `h3.scores`.
/// Throws std::logic_error where the table has no such step.
const ModelWords& model_words(std::string_view step);

}  // namespace qkv
