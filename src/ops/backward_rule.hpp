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

/// A tensor that a gradient is computed from: operand k is `Role{k}`.
enum class Role : std::size_t {
  output = static_cast<std::size_t>(-1),  ///< the step's result
  other = static_cast<std::size_t>(-2),   ///< of two operands, the one whose gradient is not wanted
  self = static_cast<std::size_t>(-3),    ///< the operand whose gradient is wanted
};

/// The backward rule for one operand: the gradient operation and the tensors that it takes, as in
/// gradient(dY, X, …). These are the result's gradient, the operand itself, then `saved`.
struct BackwardRule {
  const Operation* operation = nullptr;  ///< nullptr if no gradient flows: to ids, masks
  std::vector<Role> saved = {};          ///< operands of the step, or its output
};

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
