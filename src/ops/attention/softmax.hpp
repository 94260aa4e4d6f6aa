#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ops/backward_rule.hpp"
#include "ops/kinds/line.hpp"
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

/// Computes the softmax of a row; zeros if all is hidden. The last digits of a large tensor's rows
/// are never compared: those take a faster way.
void softmax_of_row(std::span<const double> scores, std::span<double> weights, bool is_large);

/// A number that joins the sum of each line of a head and gets no weight of its own.
template <class N>
using Sink = std::optional<N>;

/// Returns number `i` of a line's softmax, e^(x_i − top) / Σ_j e^(x_j − top). The top is the line's
/// largest number: any other gives the same, but this one never overflows. 0 if all is hidden.
template <class N>
N softmax_cell(const Line<N>& line, std::size_t i, const Sink<N>& sink = {});
template <>
Interval softmax_cell(const Line<Interval>& line, std::size_t i, const Sink<Interval>& sink);

/// Returns the backward rule of softmax, to its scores or to its sinks.
BackwardRule softmax_backward(const OperandRef& use);

/// Returns the backward rule of normalise: to its numbers, or to their sums if given.
BackwardRule normalise_backward(const OperandRef& use);

}  // namespace qkv::inline ops
