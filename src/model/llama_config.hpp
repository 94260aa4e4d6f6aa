#pragma once

#include <span>

#include "model/architecture.hpp"
#include "model/config.hpp"

namespace qkv::inline model {

/// The entries of config.json that models of LLaMA's kind are laid out by.
std::span<const ConfigRule> llama_rules();

/// What they say beside the sizes: biases, rotary positions, windows, caps and the gate. Throws
/// InputError for what qkv does not know.
LlamaParts llama_parts(const Facts& facts, const Family& family, std::size_t layers);

}  // namespace qkv::inline model
