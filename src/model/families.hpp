#pragma once

#include <span>
#include <string>

#include "model/architecture.hpp"
#include "model/config.hpp"

namespace qkv::inline model {

/// The sizes of a model of GPT-2's kind, the names of whose tensors begin with `prefix`. Throws
/// InputError as architecture.hpp says.
Architecture gpt_architecture(const Weights& weights, const Config& config,
                              const ArchitectureChoice& choice, const std::string& prefix);

/// The sizes of a model of LLaMA's kind with Hugging Face's names, which begin with `prefix`. Which
/// of the families it is, and what no tensor tells (heads, rotary positions, windows, caps), is in
/// config.json, or in the file's metadata. Throws InputError as architecture.hpp says.
Architecture llama_architecture(const Weights& weights, const Config& config,
                                const ArchitectureChoice& choice, const std::string& prefix);

/// The entries of config.json that models of LLaMA's kind are laid out by.
std::span<const ConfigRule> llama_rules();

/// What they say beside the sizes: biases, rotary positions, windows, caps and the gate. Throws
/// InputError for what qkv does not know.
LlamaParts llama_parts(const Config& config, const Family& family, std::size_t layers);

}  // namespace qkv::inline model
