#pragma once

#include "ops/backward_rule.hpp"

namespace qkv::inline ops {

/// Returns the backward rule of layer norm: to its rows, its gain and its bias.
BackwardRule layer_norm_backward(const OperandRef& use);

/// Returns the backward rule of RMS norm, which has no bias.
BackwardRule rms_norm_backward(const OperandRef& use);

}  // namespace qkv::inline ops
