#pragma once

#include "ops/backward_rule.hpp"

namespace qkv {

/// The way back through a tile's running sum and through its running output.
WayBack back_through_running_sum(const Use& use);
WayBack back_through_running_output(const Use& use);

}  // namespace qkv
