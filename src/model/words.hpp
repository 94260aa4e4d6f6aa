#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/model.hpp"

namespace qkv {

/// What is said of a model's step, by its name without the layer: "scores" for `h3.scores`.
/// Throws std::logic_error where the table has no such step.
const ModelWords& model_words(std::string_view step);

/// The names of all steps of one layer: "h3.norm1", …, "h3.residual2".
std::vector<std::string> layer_steps(std::size_t layer);

}  // namespace qkv
