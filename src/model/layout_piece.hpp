#pragma once

#include "model/model.hpp"
#include "model/weights.hpp"

namespace qkv {

/// Adds the model's weights as givens and its steps to `model.recipe`, with their words: those of
/// the first `layers` layers, and what comes after the layers only where these are all. Where the
/// first `enough` of them hold all that is wanted, the rest is counted (`Recipe::beyond`), not
/// read.
void lay_out(Model& model, const Weights& weights, const Tokeniser& tokeniser, std::size_t layers,
             std::size_t enough);

}  // namespace qkv
