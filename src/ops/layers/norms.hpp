#pragma once

#include "ops/kinds/formula.hpp"

namespace qkv::inline ops {

/// Returns what is added to the mean square before its root is taken.
inline double eps_of(const Call& call) { return call.options->number("eps", 1e-5); }

/// Returns what is added to the gain: 1 for Gemma's RMS norm, whose gain is stored less 1.
inline double offset_of(const Call& call) {
  return call.options->flag("unit_offset", false) ? 1 : 0;
}

/// Returns the operand of a norm if queries or keys are normalised: by heads, before RoPE or
/// scores.
Versions unnormed_heads(const StepView& step);

inline constexpr Mistake qk_norm_skipped = {
    "qk-norm.skipped", "The norm of queries or keys was left out.",
    "They are normalised before they meet.", unnormed_heads};

/// Returns the operand of any other norm.
Versions unnormed_rows(const StepView& step);

inline constexpr Mistake norm_skipped = {"norm.skipped", "The norm was left out: this is {0}.",
                                         "Each row is normalised by itself.", unnormed_rows};

enum class Norm { layer, rms };

/// How a row is normalised: x less its mean (not in RMS norm), divided by the root of its mean
/// square. Layer norm is that of Ba, Kiros and Hinton (2016): the square is divided by the width,
/// not by the width less one. RMS norm is that of Zhang and Sennrich (2019).
template <class N>
struct RowNorm {
  Norm norm;
  N mean = 0.0;
  N root = 1.0;

  /// The row's numbers are `x(0)`, `x(1)`, …
  template <class Row>
  RowNorm(std::size_t width, const Row& x, Norm its_norm, double eps) : norm(its_norm) {
    const N count = static_cast<double>(width);
    if (norm == Norm::layer) mean = sum<N>(width, x) / count;
    const N square = sum<N>(width,
                            [&](std::size_t j) {
                              const N distance = less_mean(x(j));
                              return distance * distance;
                            }) /
                     count;
    root = root_of(square + N(eps));
  }

  N less_mean(const N& x) const { return norm == Norm::rms ? x : x - mean; }
  N operator()(const N& x) const { return less_mean(x) / root; }
};

/// Returns the mean and root by which the row `x` is normalised.
template <class Row>
auto row_norm(const Row& x, Norm norm, double eps) {
  using N = std::remove_cvref_t<decltype(x[0])>;
  return RowNorm<N>(
      x.size(), [&](std::size_t j) { return x[j]; }, norm, eps);
}

/// Returns the backward rule of layer norm: to its rows, its gain and its bias.
BackwardRule layer_norm_backward(const OperandRef& use);

/// Returns the backward rule of RMS norm, which has no bias.
BackwardRule rms_norm_backward(const OperandRef& use);

}  // namespace qkv::inline ops
