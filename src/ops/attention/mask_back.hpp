#pragma once

#include "ops/backward_rule.hpp"

namespace qkv {

/// The way back through a mask, to the scores that it left as they were.
WayBack back_through_mask(const Use& use);

}  // namespace qkv
