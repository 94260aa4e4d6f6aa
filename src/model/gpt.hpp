#pragma once

#include <string>

#include "model/architecture.hpp"
#include "model/config.hpp"

namespace qkv {

/// Throws InputError where config.json is another model's than GPT-2's or its like, or has an entry
/// that these don't have.
void refuse_other_gpt(const Facts& facts);

/// Throws InputError where config.json says otherwise which table makes the logits than the
/// tensors.
void refuse_other_ties(const Weights& weights, const Facts& facts, const Architecture& model);

/// The form of its GELU: "tanh" or "erf".
std::string gpt_gelu(const Facts& facts, const Family& family);

}  // namespace qkv
