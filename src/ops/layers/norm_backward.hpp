#pragma once

#include "ops/backward_rule.hpp"

namespace qkv::inline ops {

/// Returns what is added to the mean square before its root is taken.
inline double eps_of(const Call& call) { return call.options->number("eps", 1e-5); }

/// Returns what is added to the gain: 1 for Gemma's RMS norm, whose gain is stored less 1.
inline double offset_of(const Call& call) {
  return call.options->flag("unit_offset", false) ? 1 : 0;
}

/// Returns the backward rule of layer norm: to its rows, its gain and its bias.
BackwardRule layer_norm_backward(const OperandRef& use);

/// Returns the backward rule of RMS norm, which has no bias.
BackwardRule rms_norm_backward(const OperandRef& use);

}  // namespace qkv::inline ops
