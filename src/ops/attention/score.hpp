#pragma once

#include <vector>

#include "ops/catalogue.hpp"
#include "ops/operation.hpp"
#include "tensor/tensor.hpp"

namespace qkv::inline ops {

/// Mistakes between the scores and the weights. The chain is the step, the step that made its first
/// operand, and so on, back to the scores.

/// Return the mistakes of a chain without its scale, or its mask.
constexpr Mistake unscaled(std::string_view hint) {
  return {"softmax.unscaled", "The scores went in before they were scaled.", hint,
          SkipUpstream{&scale_operation}};
}
constexpr Mistake unmasked(std::string_view hint) {
  return {"softmax.unmasked", "The mask was ignored.", hint, SkipUpstream{&mask_operation}};
}

/// Returns the step's result from unmasked scores, its hidden cells then set to 0.
Versions masked_afterwards(const StepView& step);

/// Returns the scores with a causal mask: with the queries as the first tokens and, if fewer than
/// the keys, as the last ones.
Versions causally_masked_either_way(const Tensor& scores);
/// Returns the step's result with a causal mask that the lesson does not have.
Versions needless_causal_mask(const StepView& step);

/// Returns the mistake of a mask that is not expected; `change` gives its numbers.
constexpr Mistake needless_mask(const Change& change = needless_causal_mask) {
  return {"mask.needless",
          "Keys were hidden at a step that hides none.",
          "Does this step have a mask?",
          change,
          {.infinities = true}};
}

}  // namespace qkv::inline ops
