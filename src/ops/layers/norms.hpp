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

/// Returns the cell's number, normalised with its row of the first operand.
template <class N>
N normed_cell(const Cell<N>& c, Norm norm) {
  const auto x = c(0);
  const auto number = [&](std::size_t j) { return x(c.row, j); };
  return RowNorm<N>(x.columns, number, norm, eps_of(*c.call))(number(c.column));
}

/// Computes a row of the first operand, normalised, times the gain and plus the bias of layer norm.
template <Norm norm>
void fill_normed_row(const Operands& of, std::span<double> cells) {
  const auto x = of.row(0);
  const auto gain = of.row(1);
  const double offset = offset_of(*of.at().call);
  const RowNorm<double> row = row_norm(x, norm, eps_of(*of.at().call));
  for (std::size_t j = 0; j < x.size(); ++j) cells[j] = row(x[j]) * (offset + gain[j]);
  if (norm == Norm::layer) std::ranges::transform(cells, of.row(2), cells.begin(), std::plus());
}

/// How a norm is computed, by a mistake in its place.
struct NormVariant {
  double eps, offset;
  bool gain = true, bias = true;
  double centre = 1;  ///< 0: the mean is not subtracted
  double around = 1;  ///< 0: the squares are not those of the distances from the mean
  Along along = Along::rows;
  double (*count)(double width) = [](double width) { return width; };  ///< divides their sum
  double (*divisor)(double squares, double eps) = [](double squares, double epsilon) {
    return std::sqrt(squares + epsilon);
  };
};
inline constexpr auto less_one = [](NormVariant& v) {
  v.count = [](double width) { return std::max(1.0, width - 1); };
};

NormVariant right_norm(const Call& call);
Tensor with_norm_variant(const Call& call, const NormVariant& v);
template <auto... changes>
inline constexpr auto normed_with = with_parameters<right_norm, with_norm_variant, changes...>;

/// Returns the backward rule of layer norm: to its rows, its gain and its bias.
BackwardRule layer_norm_backward(const OperandRef& use);

/// Returns the backward rule of RMS norm, which has no bias.
BackwardRule rms_norm_backward(const OperandRef& use);

}  // namespace qkv::inline ops
