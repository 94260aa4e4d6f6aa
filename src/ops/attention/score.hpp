#pragma once

#include <string_view>
#include <vector>

#include "ops/operation.hpp"
#include "tensor/tensor.hpp"

namespace qkv::inline ops {

/// What mistakes between the scores and the weights have in common. The chain is the step, what its
/// first operand was made by, and so on, back to the scores.

/// The step's result if the nearest `skipped` operation before it had been left out; nothing where
/// there is none on the way.
std::vector<Tensor> without(const StepView& step, const Operation& skipped);
/// That of the scale, and of the mask.
std::vector<Tensor> unscaled(const StepView& step);
std::vector<Tensor> unmasked(const StepView& step);

/// The step's result if nothing had been hidden before it, its hidden cells then set to 0.
std::vector<Tensor> masked_afterwards(const StepView& step);

/// Flags of a matrix's cells.
using BoolMatrix = xt::xtensor<bool, 2>;

/// The keys that each query sees: those up to its own, and `ahead` more (below 0: fewer).
BoolMatrix causal_pattern(const MatrixView& scores, int ahead = 0);

/// Scores with all other keys hidden, the first query being that of key `first`: a causal mask.
Tensor causally_masked(const Tensor& scores, std::size_t first);
/// The same with the queries as the first tokens and, where they are fewer than the keys, as the
/// last ones.
std::vector<Tensor> causally_masked_either_way(const Tensor& scores);
/// The scores that are the step's result with a causal mask where the lesson has none.
std::vector<Tensor> needless_causal_mask(const StepView& step);

/// The mistake of a mask where none is due, whose numbers `compute` makes.
constexpr Mistake needless_mask(
    std::vector<Tensor> (*compute)(const StepView&) = needless_causal_mask) {
  return {"mask.needless",
          "Keys were hidden at a step that hides none.",
          "Is a mask due here?",
          compute,
          {.infinities = true}};
}

/// The step's result along columns where it should go along rows, or the other way round.
std::vector<Tensor> along_other_axis(const StepView& step);

}  // namespace qkv::inline ops
