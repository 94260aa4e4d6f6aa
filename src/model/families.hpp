#pragma once

#include <string>

#include "model/architecture.hpp"

namespace qkv {

/// The sizes of a model of GPT-2's kind, the names of whose tensors begin with `prefix`. Throws
/// InputError as architecture.hpp says.
Architecture gpt_architecture(const Weights& weights, const Facts& facts,
                              const ArchitectureChoice& choice, const std::string& prefix);

}  // namespace qkv
