#pragma once

#include "ops/kinds/formula.hpp"

namespace qkv::inline ops {

/// Attention in tiles (Dao and others, FlashAttention, 2022; Milakov and Gimelshein, 2018). A tile
/// is the scores of a few keys; the results before it are rescaled if it has a larger score.

/// Returns e^(S − m_old): weights with the maximum before the tile.
Versions weights_by_old_max(const StepView& weights);

}  // namespace qkv::inline ops
