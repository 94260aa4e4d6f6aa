#pragma once

#include "ops/mistake.hpp"

namespace qkv {

/// What learners and programs get wrong about rotary positions.
inline constexpr std::size_t rope_mistakes_count = 17;
extern const Mistake rope_mistakes[rope_mistakes_count];

}  // namespace qkv
