#pragma once

#include <span>
#include <vector>

#include "ops/operation.hpp"
#include "tensor/tensor.hpp"

namespace qkv::inline ops {

/// True if the softmax has sinks, e^x / (Σ e^x + e^sink): a number per head that joins the sum of
/// each of its lines and gets no weight itself.
bool has_sinks(const Call& call);

/// Returns the sink of the matrix's head.
double sink_of(const Call& call, std::size_t matrix);

/// Rescales the `weights` of a line of scores from those without the sink to those with it.
void share_with_sink(std::span<const double> scores, std::span<double> weights, double sink);

/// Returns the weights of a weighted sum with the sink's given to the first key, or to the last
/// one.
Versions sinks_in_values(const StepView& step);

/// Computes the softmax of a long row, whose last digits are never compared; zeros if all is
/// hidden.
void softmax_of_long_row(std::span<const double> scores, std::span<double> weights);

}  // namespace qkv::inline ops
