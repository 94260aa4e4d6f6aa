#pragma once

#include "ops/backward_rule.hpp"

namespace qkv {

/// The way back through a turn by positions: to the rows, and to the angles where those are given.
WayBack back_through_rope(const Use& use);

}  // namespace qkv
