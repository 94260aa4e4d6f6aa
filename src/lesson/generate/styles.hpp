#pragma once

#include "lesson/generate/style.hpp"

namespace qkv {

inline constexpr std::size_t llama_words_count = 16;

/// What a new lesson of LLaMA's kind says of the steps that the classic one has not, or has other
/// operands for.
extern const Said llama_words[llama_words_count];

}  // namespace qkv
