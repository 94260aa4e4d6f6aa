#pragma once

#include "ops/mistake.hpp"
#include "ops/score_chain.hpp"

namespace qkv {

struct CellBase;

/// The cells of one matrix that a step of op mask hides.
Flags hidden_by_mask(const CellBase& at);

/// What learners and programs get wrong about masks.
inline constexpr std::size_t mask_mistakes_count = 10;
extern const Mistake mask_mistakes[mask_mistakes_count];

}  // namespace qkv
