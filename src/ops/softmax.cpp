#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "ops/catalogue.hpp"
#include "ops/formula.hpp"
#include "ops/line.hpp"
#include "ops/other_heads.hpp"
#include "ops/rows.hpp"
#include "ops/score_chain.hpp"
#include "ops/shape_rule.hpp"
#include "tensor/parallel.hpp"
#include "tensor/row_kernels.hpp"

namespace qkv {
namespace {

// e^(x - top), with the two limits that a subtraction of infinities would lose: a hidden score adds
// nothing, and scores of +inf share the row among themselves.
double power(double x, double top) {
  if (x == -infinity) return 0;
  return top == infinity ? (x == infinity ? 1 : 0) : std::exp(x - top);
}

double number_of(double x) { return x; }
double number_of(const Expression& x) { return x.value(); }
double number_of(const Decimal& x) { return x.value(); }

Expression power(const Expression& x, const Expression& top) {
  if (x.value() == infinity) return 1.0;  // as above: infinity less infinity is no arithmetic
  return Expression::of(Expression::Kind::exponential, {x - top});
}

Decimal power(const Decimal& x, const Decimal& top) { return exp(x - top); }

// e^(x_i - top) / Σ_j e^(x_j - top), the top being the line's largest number: any other gives the
// same, but this one never overflows. A line in which everything is hidden has no weights: zeros.
template <class N>
N weight(const Line<N>& line, std::size_t i) {
  const N top = largest(line);
  if (number_of(top) == -infinity) return 0.0;
  return power(line(i), top) /
         sum<N>(line.size(), [&](std::size_t j) { return power(line(j), top); });
}

// A softmax rises with its own score and falls with every other, so its range ends where the one is
// highest and the others lowest, and the other way round.
template <>
Interval weight(const Line<Interval>& line, std::size_t i) {
  const auto corner = [&](bool own_high) {
    std::vector<double> scores(line.size());
    for (std::size_t j = 0; j < scores.size(); ++j) {
      scores[j] = (j == i) == own_high ? line(j).high : line(j).low;
    }
    return weight(Line<double>{{scores, 1, scores.size()}, 0, false}, i);
  };
  return {corner(false), corner(true)};
}

// The weights of a matrix of scores; where everything is hidden there are none: zeros.
constexpr double (*power_of)(double, double) = power;
Matrix softmax(const Matrix& scores, Along along) {
  const Matrix powers = xt::vectorize(power_of)(scores, tops(scores, along));
  const Matrix totals = sums(powers, along);
  return xt::where(xt::equal(totals, 0.0), 0.0, powers / totals);
}

// Rows of large tensors, which are never checked digit by digit.
void softmax_long_row(std::span<const double> scores, std::span<double> weights) {
  if (softmax_row(scores, weights)) return;
  const std::array size = {std::size_t{1}, scores.size()};
  seen_as<2>(weights, size) = softmax(seen_as<2>(scores, size), Along::rows);
}

Tensor softmax_of_long_rows(const Tensor& scores, Tensor weights) {
  const std::size_t width = weights.columns();
  constexpr std::size_t operations = 4;
  row_by_row(weights, operations, [&](std::size_t m, std::size_t row, std::span<double> cells) {
    thread_local Scratch scratch;
    const std::size_t first = (m * scores.rows() + row) * width;
    softmax_long_row(scores.values.read(first, width, scratch), cells);
  });
  return weights;
}

// The same two corners for a whole matrix, each e^x worked out once. Where all vanish beside the
// top, the number itself is all that there is, or can be nothing.
MatrixRange softmax_range(const MatrixRange& scores, Along along) {
  const Matrix top = tops(scores.high, along);
  const Matrix low = xt::vectorize(power_of)(scores.low, top);
  const Matrix high = xt::vectorize(power_of)(scores.high, top);
  const Matrix least = low + sums_of_others(high, along);
  const Matrix most = high + sums_of_others(low, along);
  const Matrix all = xt::where(xt::equal(top, -infinity), 0.0, 1.0);
  return {xt::where(xt::equal(least, 0.0), 0.0, low / least),
          xt::where(xt::equal(most, 0.0), all, high / most)};
}

struct Softmax {
  static Form form(const Call& call) {
    const bool down = goes_down(call);
    return {{"row column"},
            "row column",
            down ? "softmax of each column of {0}" : "softmax of each row of {0}",
            down ? "softmax of each row of {0}" : "softmax of each column of {0}"};
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    const Line<N> line = line_of(c);
    const std::size_t i = place_in_line(c);
    if constexpr (std::is_same_v<N, Decimal>) {
      if (line(i).value() == -infinity) return 0.0;  // whatever the sum is
      if (is_alone(c, -infinity)) return 1.0;
      if (!line(i).is_exact()) return line(i);
    }
    return weight(line, i);
  }

  static Tensor compute(const Call& call) {
    const Tensor& scores = *call.inputs[0];
    Tensor weights = output_of(call, form(call));
    if (weights.values.size() <= teaching_numbers) {
      return by_operands(call, std::move(weights), [&](const Operands& of) -> Matrix {
        return softmax(of(0), along_of(call));
      });
    }
    if (!goes_down(call)) return softmax_of_long_rows(scores, std::move(weights));
    return transposed(softmax_of_long_rows(transposed(scores), transposed(weights)));
  }

  static std::optional<Range> range(const Call& call, std::span<const Bounds> operands,
                                    const Tensor& result) {
    return range_by_matrix(operands[0], result, [&](const MatrixRange& scores) {
      return softmax_range(scores, along_of(call));
    });
  }

  // The three strides of a softmax by hand, as their own operations take them.
  static std::vector<Part> parts(const Call& call) {
    Call stride = call;
    Tensor shifted = result_of(shift_operation, stride);
    stride.inputs = {&shifted};
    Tensor raised_up = result_of(exp_operation, stride);
    return {{"minus the largest", std::move(shifted)}, {"e to that power", std::move(raised_up)}};
  }
};

// The mistake's weights from each matrix of scores, along the step's own rows or columns.
Tensor from_scores(const Source& step, Matrix (*formula)(const Matrix& scores, Along along)) {
  const Along along = along_of(call_of(step));
  return by_matrix(*step.inputs[0]->tensor,
                   [&](const MatrixView& scores) { return formula(scores, along); });
}

std::vector<Tensor> whole(const Source& step) {
  return {from_scores(step, [](const Matrix& s, Along) -> Matrix {
    const Matrix powers = xt::exp(s);
    return powers / total(powers);
  })};
}

std::vector<Tensor> no_exp(const Source& step) {
  return {from_scores(step, [](const Matrix& s, Along along) { return shares(finite(s), along); })};
}

std::vector<Tensor> not_normalised(const Source& step) {
  const auto below_the_top = [](const Matrix& s, Along along) -> Matrix {
    return xt::vectorize(power_of)(s, tops(s, along));
  };
  const Tensor& scores = *step.inputs[0]->tensor;
  return {with_numbers(scores, xt::exp(scores.array())), from_scores(step, below_the_top)};
}

// 2^x is e^(x · ln 2).
std::vector<Tensor> base_2(const Source& step) {
  return {from_scores(
      step, [](const Matrix& s, Along along) { return softmax(s * std::numbers::ln2, along); })};
}

// The powers of all heads in a cell, divided by their sum.
std::vector<Tensor> over_heads(const Source& step) {
  const Tensor& scores = *step.inputs[0]->tensor;
  if (scores.leading_axes() == 0 || scores.values.empty()) return {};
  const std::size_t heads = scores.axes[scores.leading_axes() - 1].size;
  if (heads < 2) return {};
  Tensor weights = scores;
  for (std::size_t first = 0; first < scores.matrices(); first += heads) {
    Matrix top = scores.matrix(first);
    for (std::size_t h = 1; h < heads; ++h) top = xt::maximum(top, scores.matrix(first + h));
    Matrix total = xt::zeros_like(top);
    for (std::size_t h = 0; h < heads; ++h) {
      const Matrix powers = xt::vectorize(power_of)(scores.matrix(first + h), top);
      total += powers;
      xt::noalias(weights.write_matrix(first + h)) = powers;
    }
    for (std::size_t h = 0; h < heads; ++h) {
      const Matrix powers = weights.matrix(first + h);
      xt::noalias(weights.write_matrix(first + h)) =
          xt::where(xt::equal(total, 0.0), 0.0, powers / total);
    }
  }
  return {std::move(weights)};
}

// e^(−x); what is hidden stays so.
std::vector<Tensor> negative(const Source& step) {
  return {from_scores(step, [](const Matrix& s, Along along) -> Matrix {
    return softmax(xt::where(xt::isinf(s), s, -s), along);
  })};
}

// 10^x is e^(x · ln 10).
std::vector<Tensor> base_10(const Source& step) {
  return {from_scores(
      step, [](const Matrix& s, Along along) { return softmax(s * std::numbers::ln10, along); })};
}

// A causal mask where the lesson has none.
std::vector<Tensor> softmax_masked(const Source& step) {
  if (behind(&step, mask_operation)) return {};
  const Tensor hidden = hidden_ahead(*step.inputs[0]->tensor);
  Call call = call_of(step);
  call.inputs[0] = &hidden;
  return {Softmax::compute(call)};
}

constexpr Mistake softmax_mistakes[] = {
    {"softmax.columns", "Softmax went along the wrong axis.", "The weights of one query sum to 1.",
     along_other_axis},
    {"softmax.whole", "Softmax went over the whole matrix at once.",
     "Every query has its own sum to divide by.", whole},
    {"softmax.no-exp", "The scores were divided by their plain sum, without e^x.",
     "First e to the power of each score, then divide.", no_exp},
    {"softmax.not-normalised", "The powers of e were not divided by their sum.",
     "The weights of one query sum to 1.", not_normalised},
    {"softmax.base-2", "2 was raised to the scores instead of e.", "e ≈ 2.718.", base_2},
    {"softmax.base-2", "10 was raised to the scores instead of e.", "e ≈ 2.718.", base_10},
    {"softmax.unscaled", "The scores went in before they were scaled.",
     "Softmax takes the scaled scores.", unscaled},
    {"softmax.unmasked", "The mask was ignored.", "Hidden keys get weight 0.", unmasked},
    {"softmax.mask-after", "Weights were set to 0 after softmax, so the rows no longer sum to 1.",
     "Hide first, then softmax.", hidden_afterwards},
    {"softmax.heads", "Softmax went over the heads.",
     "The weights of one query sum to 1 in each head.", over_heads},
    {"softmax.negative", "The scores went in with the wrong sign: e^(−x).",
     "A larger score gets a larger weight.", negative},
    {"mask.needless", hid_for_nothing, nothing_to_hide, softmax_masked},
    {"heads.other", took_another_head, which_head, with_other_heads},
};

}  // namespace

constinit const Operation softmax_operation{
    .name = "softmax",
    .title = "Turn scores into weights",
    .says =
        "Softmax makes every number positive (e to its power) and divides by the sum, so that "
        "the weights of a query add up to 1. Larger scores get more than their share.",
    .notice = "Which weight is the largest for each query, and by how much?",
    .operands = R"(["scores"])",
    .options = line_options,
    .form = Softmax::form,
    .compute = Softmax::compute,
    .cell = readings_of<Softmax>(),
    .range = Softmax::range,
    .makes_weights = true,
    .parts = Softmax::parts,
    .mistakes = softmax_mistakes,
};

}  // namespace qkv
