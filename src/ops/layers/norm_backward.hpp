#pragma once

#include "ops/backward_rule.hpp"

namespace qkv::inline ops {

/// The way back through layer norm: to its rows, its gain and its bias.
WayBack back_through_layer_norm(const Use& use);

/// The same through RMS norm, which has no bias.
WayBack back_through_rms_norm(const Use& use);

}  // namespace qkv::inline ops
