#pragma once

#include "tensor/tensor.hpp"

namespace qkv {

/// Whether a number is another one than before, beyond the last bits in which sums differ that are
/// added in another order.
bool differs(double now, double before);

/// Whether each cell of `now` has the one of `before` that it was: the same shape and labels.
bool comparable(const Tensor& now, const Tensor& before);

/// Whether any number differs, or shape or labels do.
bool differs(const Tensor& now, const Tensor& before);

}  // namespace qkv
