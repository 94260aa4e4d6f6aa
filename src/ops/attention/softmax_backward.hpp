#pragma once

#include "ops/backward_rule.hpp"

namespace qkv::inline ops {

/// Returns the backward rule of softmax, to its scores or to its sinks.
BackwardRule softmax_backward(const OperandRef& use);

/// Returns the backward rule of normalise: to its numbers, or to their sums if given.
BackwardRule normalise_backward(const OperandRef& use);

}  // namespace qkv::inline ops
