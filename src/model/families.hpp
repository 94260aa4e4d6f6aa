#pragma once

#include <span>
#include <string>

#include "model/architecture.hpp"
#include "model/config.hpp"

namespace qkv::inline model {

/// Returns the sizes of a relative of GPT-2 whose tensor names begin with `prefix`. Throws
/// InputError like architecture_of.
Architecture gpt_architecture(const Weights& weights, const Config& config,
                              const ArchitectureChoice& choice, const std::string& prefix);

/// Returns the sizes of a relative of LLaMA with Hugging Face's names, which begin with `prefix`.
/// The family, heads, rotary positions, windows and caps come from config.json or the file's
/// metadata. Throws InputError like architecture_of.
Architecture llama_architecture(const Weights& weights, const Config& config,
                                const ArchitectureChoice& choice, const std::string& prefix);

/// Returns the entries of config.json that LLaMA's relatives use.
std::span<const ConfigRule> llama_rules();

/// Returns the settings besides the sizes: biases, rotary positions, windows, caps and the gate.
/// Throws InputError for unknown values.
LlamaParts llama_parts(const Config& config, const Family& family, std::size_t layers);

}  // namespace qkv::inline model
