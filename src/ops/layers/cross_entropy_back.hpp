#pragma once

#include "ops/backward_rule.hpp"

namespace qkv {

/// The way back through a loss, to its logits.
WayBack back_through_loss(const Use& use);

}  // namespace qkv
