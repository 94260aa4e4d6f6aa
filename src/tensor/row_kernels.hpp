#pragma once

#include <span>

namespace qkv::inline tensor {

/// The softmax of one row, for rows of large tensors: e^x by a polynomial that is off by at most
/// one unit in the last place, for eight numbers at a time, and the sum in eight parts. The same
/// bits on every machine, though not those of std::exp added from left to right. What lies more
/// than 708 below the largest becomes 0. False, and nothing written, where the row's largest number
/// is infinite.
bool softmax_row(std::span<const double> scores, std::span<double> weights);

/// tanh x of each, off by at most two units in the last place of 1, for rows of large tensors. NaN
/// stays NaN.
void tanh_row(std::span<double> cells);

/// Whether none of the values is infinite or NaN.
bool all_finite(std::span<const double> values);

/// The largest of the finite numbers' magnitudes; 0 where there are none.
double largest_magnitude(std::span<const double> values);

/// Whether there is a NaN among the values.
bool has_nan(std::span<const double> values);

}  // namespace qkv::inline tensor
