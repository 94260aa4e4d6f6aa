#pragma once

#include <vector>

#include "ops/numbers/functions.hpp"
#include "ops/operation.hpp"

namespace qkv::inline ops {

/// What the operations of attention in tiles have in common (Dao and others, FlashAttention, 2022;
/// Milakov and Gimelshein, 2018): a tile is a few keys' scores, and what was found before it is
/// rescaled where a larger score turns up.

/// Whether the step begins: nothing was found before. Else it goes on from there.
inline bool is_first_tile(const Call& call) { return call.inputs.size() < 2; }

/// What the sum or the output of the tiles before is multiplied by, e^(m_old − m): operands 1
/// and 2. Where all was hidden before it is 0.
template <class N>
N rescaling(const Cell<N>& c) {
  if constexpr (std::is_same_v<N, Interval>) {
    if (c.call->inputs[1] == c.call->inputs[2]) return 1.0;
  }
  return power(c(1)(c.row, 0), c(2)(c.row, 0));
}

/// How a wrong version puts a cell together: what was found before it, the maximum then and now,
/// and what the tile adds.
using Combination = double (*)(double before, double then, double now, double tile);

double not_rescaled(double before, double then, double now, double tile);
double rescaled_twice(double before, double then, double now, double tile);
double rescaled_backwards(double before, double then, double now, double tile);
double tile_rescaled(double before, double then, double now, double tile);

/// The numbers of a step that goes on from operands 0 to 2, with `tile` for what its last operands
/// make; nothing where it begins.
std::vector<Tensor> combined(const StepView& step, const Tensor& tile, Combination formula);

/// The scores that the weights of a tile were made from, and the maximum before them: nothing where
/// they are not known, or where nothing was before.
struct TileScores {
  const StepView* scores = nullptr;
  const StepView* before = nullptr;
};
TileScores upstream_scores(const StepView& weights);

/// e^(S − m_old): weights from the maximum before the tile.
std::vector<Tensor> weights_by_old_max(const StepView& weights);

}  // namespace qkv::inline ops
