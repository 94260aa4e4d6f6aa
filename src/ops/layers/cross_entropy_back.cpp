#include "ops/layers/cross_entropy_back.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ops/kinds/formula.hpp"
#include "ops/kinds/gradient.hpp"
#include "ops/kinds/line.hpp"
#include "ops/layers/cross_entropy.hpp"
#include "ops/numbers/functions.hpp"
#include "ops/result.hpp"
#include "tensor/parallel.hpp"
#include "tensor/row_kernels.hpp"

namespace qkv {
namespace {

// d logits = (softmax − target) · dL, and by the number of rows where the loss is their mean.
struct CrossEntropyBack {
  static Call forward(const Call& call) {
    Call there = call;
    there.inputs = {call.inputs[own_operand], call.inputs[first_need]};
    there.names = {call.names[own_operand], call.names[first_need]};
    return there;
  }

  static double rows_of(const Call& call) {
    return static_cast<double>(call.inputs[own_operand]->rows());
  }

  static Form form(const Call& call) {
    const Call there = forward(call);
    const bool each = reduction_of(call) == "none";
    std::string formula = "(softmax({1}) − {2}) · {0}";
    if (reduction_of(call) == "mean") formula += fmt::format(" / {}", rows_of(call));
    return {{each ? "token 1" : "1 1", "token vocabulary", axes_of_targets(there)},
            "token vocabulary",
            std::move(formula)};
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    const Call there = forward(*c.call);
    const N difference = share_of_column(c) - target_of(c, there);
    const N change = c(arriving)(reduction_of(*c.call) == "none" ? c.row : 0, 0);
    const N result = difference * change;
    return reduction_of(*c.call) == "mean" ? result / N(rows_of(*c.call)) : result;
  }

  static Tensor compute(const Call& call, Tensor whole) {
    const Call there = forward(call);
    const bool with_ids = are_ids(there);
    const double by = reduction_of(call) == "mean" ? rows_of(call) : 1;
    const bool is_large = whole.values.size() > teaching_numbers;
    constexpr std::size_t operations = 16;
    return by_rows(
        call, std::move(whole), operations, [&](const Operands& of, std::span<double> cells) {
          shares_of(of.row(own_operand), cells, is_large);
          const double change = of.row(arriving)[0];
          const CellBase at{.call = &there, .output = of.at().output, .matrix = of.at().matrix};
          const std::size_t id = with_ids ? id_of(at, of.at().row) : 0;
          for (std::size_t j = 0; j < cells.size(); ++j) {
            const double due = with_ids ? (j == id ? 1 : 0) : of.row(first_need)[j];
            cells[j] = (cells[j] - due) * change / by;
          }
        });
  }

  static void shares_of(std::span<const double> logits, std::span<double> shares, bool is_large) {
    if (is_large && softmax_row(logits, shares)) return;
    const double top = *std::ranges::max_element(logits);
    double all = 0;
    for (std::size_t j = 0; j < logits.size(); ++j) all += shares[j] = power(logits[j], top);
    for (double& share : shares) share /= all;
  }

  // The softmax of the row, at the column.
  template <class N>
  static N share_of_column(const Cell<N>& c) {
    const Line<N> row{c(own_operand), c.row, false};
    if constexpr (std::is_same_v<N, Interval>) {
      return {corner(row, c.column, false), corner(row, c.column, true)};
    } else {
      const N top = largest(row);
      return power(row(c.column), top) /
             sum<N>(row.size(), [&](std::size_t j) { return power(row(j), top); });
    }
  }

  // It rises with its own logit and falls with every other.
  static double corner(const Line<Interval>& row, std::size_t own, bool high) {
    std::vector<double> logits(row.size());
    for (std::size_t j = 0; j < logits.size(); ++j) {
      logits[j] = (j == own) == high ? row(j).high : row(j).low;
    }
    const double top = top_of(logits);
    double all = 0;
    for (const double logit : logits) all += power(logit, top);
    return power(logits[own], top) / all;
  }

  template <class N>
  static N target_of(const Cell<N>& c, const Call& there) {
    if (!are_ids(there)) return c(first_need)(c.row, c.column);
    const CellBase at{.call = &there, .output = c.output, .matrix = c.matrix};
    return id_of(at, c.row) == c.column ? 1.0 : 0.0;
  }
};

std::vector<Tensor> other_sign(const Source& step) { return scaled(step, -1); }

// The softmax alone, as if there were no target.
std::vector<Tensor> no_target(const Source& step) {
  const Call call = call_of(step);
  const double by = reduction_of(call) == "mean" ? CrossEntropyBack::rows_of(call) : 1;
  const Tensor& logits = step.operand(own_operand);
  return {by_matrix(logits, [&](const MatrixView& x) -> Matrix {
    const Matrix powers = xt::exp(x - tops(x));
    return powers / sums(powers) / by;
  })};
}

// The rows' gradients as they are, where the loss is their mean.
std::vector<Tensor> not_averaged(const Source& step) {
  const Call call = call_of(step);
  const bool is_mean = reduction_of(call) == "mean" && CrossEntropyBack::rows_of(call) > 1;
  return is_mean ? scaled(step, CrossEntropyBack::rows_of(call)) : std::vector<Tensor>();
}

constexpr Mistake cross_entropy_back_mistakes[] = {
    {"cross-entropy-backward.sign", "The sign is turned: target − softmax.",
     "The logit of the target should grow: its gradient is negative.", other_sign},
    {"cross-entropy-backward.no-target", "The softmax stands there without the target taken off.",
     "Subtract 1 at the target.", no_target},
    {"cross-entropy.sum", "The rows were not averaged: the gradient of a sum.",
     "Divide by the number of rows.", not_averaged},
};

constinit const Operation cross_entropy_back = gradient_of<Gradient<CrossEntropyBack>>({
    .title = "Back from the loss to the logits",
    .says = "The probability that softmax gives, less what was due: 1 at the target, 0 elsewhere. "
            "Where the loss is the mean of the rows, this is divided by their number.",
    .notice = "Each row sums to 0. A minus stands where a larger logit would make the loss "
              "smaller.",
    .mistakes = cross_entropy_back_mistakes,
});

}  // namespace

WayBack back_through_loss(const Use& use) {
  if (use.operand == 1) return {};  // targets are what is due, not what was made
  return {&cross_entropy_back, {1}};
}

}  // namespace qkv
