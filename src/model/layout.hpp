#pragma once

#include "model/model.hpp"
#include "model/weights.hpp"

namespace qkv {

/// Adds the model's weights as givens and its steps to `model.recipe`, with their words; only the
/// first `layers` layers, and what comes after the layers only where these are all.
void lay_out(Model& model, const Weights& weights, const Tokeniser& tokeniser, std::size_t layers);

}  // namespace qkv
