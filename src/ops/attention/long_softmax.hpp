#pragma once

#include <span>

namespace qkv {

/// The softmax of a row of a large tensor, which is never checked digit by digit; zeros where
/// everything is hidden.
void softmax_of_long_row(std::span<const double> scores, std::span<double> weights);

}  // namespace qkv
