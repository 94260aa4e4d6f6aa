#pragma once

#include "ops/kinds/formula.hpp"

namespace qkv::inline ops {

/// Attention in tiles (Dao and others, FlashAttention, 2022; Milakov and Gimelshein, 2018). A tile
/// is the scores of a few keys; the results before it are rescaled if it has a larger score.

/// True if this is the first tile. Otherwise the step continues the results of earlier tiles.
inline bool is_first_tile(const Call& call) { return call.inputs.size() < 2; }

/// Returns the factor of the sum or output before, e^(m_old − m), from operands 1 and 2. It is 0 if
/// everything was hidden before.
template <class N>
N rescaling(const Cell<N>& c) {
  if constexpr (std::is_same_v<N, Interval>) {
    if (c.call->inputs[1] == c.call->inputs[2]) return 1.0;
  }
  return power(c(1)(c.row, 0), c(2)(c.row, 0));
}

/// Returns e^(S − m_old): weights with the maximum before the tile.
Versions weights_by_old_max(const StepView& weights);

}  // namespace qkv::inline ops
