#pragma once

#include "ops/backward_rule.hpp"

namespace qkv::inline ops {

/// The way back through layer norm: to its rows, its gain and its bias.
BackwardRule layer_norm_backward(const OperandRef& use);

/// The same through RMS norm, which has no bias.
BackwardRule rms_norm_backward(const OperandRef& use);

}  // namespace qkv::inline ops
