#pragma once

#include <span>
#include <vector>

#include "ops/operation.hpp"
#include "tensor/tensor.hpp"

namespace qkv::inline ops {

/// Softmax with sinks (a number a head, which joins the sum of each of its lines and gets no weight
/// of its own): e^x / (Σ e^x + e^sink).
bool has_sinks(const Call& call);

/// Throws InputError where there is not one for each head.
void check_sinks(const Call& call);

/// One head's number.
double sink_of(const Call& call, std::size_t matrix);

/// What a line of scores shares with its sink: `weights` are those without it, and become those
/// with it.
void share_with_sink(std::span<const double> scores, std::span<double> weights, double sink);

/// The weights without sinks, each line then sharing with its head's sink.
Tensor with_sinks(const Call& call, Tensor weights);

/// What learners make of them.
std::vector<Tensor> sinks_skipped(const StepView& step);
std::vector<Tensor> sinks_scaled(const StepView& step);
std::vector<Tensor> sinks_kept(const StepView& step);

/// At the weighted sum: the sink's share given to a value.
std::vector<Tensor> sinks_in_values(const StepView& step);

/// The softmax of a row of a large tensor, which is never checked digit by digit; zeros where
/// everything is hidden.
void softmax_of_long_row(std::span<const double> scores, std::span<double> weights);

}  // namespace qkv::inline ops
