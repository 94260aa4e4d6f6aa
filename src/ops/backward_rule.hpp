#pragma once

#include <cstddef>
#include <vector>

#include "ops/operation.hpp"

namespace qkv::inline ops {

/// One operand of a step, whose gradient is wanted.
struct OperandRef {
  std::size_t operand = 0;
  std::size_t operands = 1;  ///< the step's number of operands
  const Options* options = nullptr;
};

/// The backward rule for one operand: the gradient operation and the tensors that it takes, as in
/// gradient(dY, X, …). These are the result's gradient, the operand itself, then `saved`.
struct BackwardRule {
  /// The entry of `saved` that stands for the step's result.
  static constexpr std::size_t result = static_cast<std::size_t>(-1);

  const Operation* operation = nullptr;  ///< nullptr if no gradient flows: to ids, masks
  std::vector<std::size_t> saved = {};   ///< indices of the step's operands, or `result`
};

/// An operand's gradient operation and the one tensor that it saves, if any.
struct GradientBy {
  static constexpr std::size_t nothing = BackwardRule::result - 1;

  const Operation* operation = nullptr;
  std::size_t saved = nothing;
};

/// Returns the rule of an operation by its operand. The last of `gradients` serves all that follow.
/// Example: `backward_by<GradientBy{&score_grad_queries, 1}, GradientBy{&score_grad_keys, 0}>`
template <GradientBy... gradients>
BackwardRule backward_by(const OperandRef& use) {
  constexpr GradientBy all[] = {gradients...};
  const GradientBy own = use.operand < std::size(all) ? all[use.operand] : *std::rbegin(all);
  if (own.saved == GradientBy::nothing) return {own.operation};
  return {own.operation, {own.saved}};
}

/// Returns the rule of an operation through which no gradient flows.
BackwardRule no_backward(const OperandRef& use);

/// The name of every gradient operation, as lesson files write it.
inline constexpr std::string_view backward_name = "backward";

/// True if the operation computes a gradient, or accumulates several.
inline bool is_gradient(const Operation& operation) { return operation.name == backward_name; }

/// The gradient of the loss by itself, 1. Its operand is the loss.
extern const Operation grad_seed_operation;

/// The gradient of a tensor that several steps use: the sum of its operands, one for each use.
extern const Operation accumulate_grad_operation;

}  // namespace qkv::inline ops
