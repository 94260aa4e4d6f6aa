#pragma once

#include <cstddef>
#include <vector>

#include "ops/operation.hpp"

namespace qkv::inline ops {

/// One of a step's operands, whose gradient is asked for.
struct OperandRef {
  std::size_t operand = 0;
  std::size_t operands = 1;  ///< how many the step has
  const Options* options = nullptr;
};

/// How a gradient goes back through a step to one of its operands. The operation takes the gradient
/// of the step's result, the operand itself, and what else it needs: gradient(dY, X, …).
struct BackwardRule {
  /// Stands among `saved` for what the step made.
  static constexpr std::size_t result = static_cast<std::size_t>(-1);

  const Operation* operation = nullptr;  ///< none where nothing flows back: to ids, to masks
  std::vector<std::size_t> saved = {};   ///< places among the step's operands, or `result`
};

/// For a step through which no gradient flows at all.
BackwardRule no_backward(const OperandRef& use);

/// The name of every gradient's operation, as lessons write it.
inline constexpr std::string_view backward_name = "backward";

/// Whether the operation makes a gradient, or adds up several.
inline bool is_gradient(const Operation& operation) { return operation.name == backward_name; }

/// The first gradient: the loss by itself, 1. Takes the loss.
extern const Operation grad_seed_operation;

/// The gradient of what several steps use: the sum of what comes back through each. Takes those.
extern const Operation accumulate_grad_operation;

}  // namespace qkv::inline ops
