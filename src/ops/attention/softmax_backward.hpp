#pragma once

#include "ops/backward_rule.hpp"

namespace qkv::inline ops {

/// The way back through a softmax, to its scores.
WayBack back_through_softmax(const Use& use);

/// The way back through shares: to the numbers, or to their sums where those are an operand.
WayBack back_through_normalise(const Use& use);

}  // namespace qkv::inline ops
