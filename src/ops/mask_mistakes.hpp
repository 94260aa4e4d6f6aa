#pragma once

#include "ops/mistake.hpp"
#include "ops/score_chain.hpp"

namespace qkv {

/// What learners and programs get wrong about masks.
inline constexpr std::size_t mask_mistakes_count = 11;
extern const Mistake mask_mistakes[mask_mistakes_count];

}  // namespace qkv
