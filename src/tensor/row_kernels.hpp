#pragma once

#include <span>

namespace qkv::inline tensor {

/// Computes the softmax of one row of a large tensor. e^x is a polynomial, accurate to one unit in
/// the last place; the sum has eight parts. The bits are the same on every machine, but differ from
/// those of std::exp and a sum from left to right. Weights of scores more than 708 below the
/// largest are 0. Returns false, and writes nothing, if the largest score is infinite.
bool softmax_row(std::span<const double> scores, std::span<double> weights);

/// Replaces each x by tanh x, for rows of large tensors; off by at most two units in the last place
/// of 1. NaN stays NaN.
void tanh_row(std::span<double> cells);

/// True if no value is infinite or NaN.
bool all_finite(std::span<const double> values);

/// Returns the largest magnitude of the finite numbers, or 0.
double largest_magnitude(std::span<const double> values);

bool has_nan(std::span<const double> values);

}  // namespace qkv::inline tensor
