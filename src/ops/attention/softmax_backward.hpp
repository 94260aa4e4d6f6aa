#pragma once

#include "ops/backward_rule.hpp"

namespace qkv::inline ops {

/// The way back through a softmax, to its scores.
BackwardRule softmax_backward(const OperandRef& use);

/// The way back through shares: to the numbers, or to their sums where those are an operand.
BackwardRule normalise_backward(const OperandRef& use);

}  // namespace qkv::inline ops
