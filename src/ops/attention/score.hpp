#pragma once

#include <vector>

#include "ops/operation.hpp"
#include "tensor/tensor.hpp"

namespace qkv::inline ops {

/// Mistakes between the scores and the weights. The chain is the step, the step that made its first
/// operand, and so on, back to the scores.

/// Return the step's result without the nearest scale, or mask, of the chain; empty if none.
std::vector<Tensor> unscaled(const StepView& step);
std::vector<Tensor> unmasked(const StepView& step);

/// Returns the step's result from unmasked scores, its hidden cells then set to 0.
std::vector<Tensor> masked_afterwards(const StepView& step);

/// Flags of a matrix's cells.
using BoolMatrix = xt::xtensor<bool, 2>;

/// Returns the keys that each query sees: up to its own, and `ahead` more (if negative, fewer).
BoolMatrix causal_pattern(const MatrixView& scores, int ahead = 0);

/// Returns the scores with a causal mask: with the queries as the first tokens and, if fewer than
/// the keys, as the last ones.
std::vector<Tensor> causally_masked_either_way(const Tensor& scores);
/// Returns the step's result with a causal mask that the lesson does not have.
std::vector<Tensor> needless_causal_mask(const StepView& step);

/// Returns the mistake of a mask that is not expected; `compute` gives its numbers.
constexpr Mistake needless_mask(
    std::vector<Tensor> (*compute)(const StepView&) = needless_causal_mask) {
  return {"mask.needless",
          "Keys were hidden at a step that hides none.",
          "Is a mask due here?",
          compute,
          {.infinities = true}};
}

/// Returns the step's result along the other axis: columns for rows, or rows for columns.
std::vector<Tensor> along_other_axis(const StepView& step);

}  // namespace qkv::inline ops
