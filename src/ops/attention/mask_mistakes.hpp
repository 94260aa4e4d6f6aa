#pragma once

#include "ops/attention/score.hpp"
#include "ops/mistake.hpp"

namespace qkv {

/// What learners and programs get wrong about masks.
inline constexpr std::size_t mask_mistakes_count = 11;
extern const Mistake mask_mistakes[mask_mistakes_count];

}  // namespace qkv
