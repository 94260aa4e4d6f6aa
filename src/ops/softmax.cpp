#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "ops/catalogue.hpp"
#include "ops/line.hpp"
#include "ops/score_chain.hpp"
#include "ops/shape_rule.hpp"
#include "tensor/parallel.hpp"
#include "tensor/row_kernels.hpp"

namespace qkv {
namespace {

// e^(x - top), with the two limits that a subtraction of infinities would lose: a hidden score adds
// nothing, and scores of +inf share the row among themselves.
double raised(double x, double top) {
  if (x == -infinity) return 0;
  return top == infinity ? (x == infinity ? 1 : 0) : std::exp(x - top);
}

double number_of(double x) { return x; }
double number_of(const Expression& x) { return x.value(); }

Expression raised(const Expression& x, const Expression& top) {
  if (x.value() == infinity) return 1.0;  // as above: infinity less infinity is no arithmetic
  return Expression::of(Expression::Kind::exponential, {x - top});
}

// e^(x_i - top) / Σ_j e^(x_j - top), the top being the line's largest number: any other gives the
// same, but this one never overflows. A line in which everything is hidden has no weights: zeros.
template <class N>
N share(const Line<N>& line, std::size_t i) {
  const N top = largest(line);
  if (number_of(top) == -infinity) return 0.0;
  return raised(line(i), top) /
         sum<N>(line.size(), [&](std::size_t j) { return raised(line(j), top); });
}

// A softmax rises with its own score and falls with every other, so its range ends where the one is
// highest and the others lowest, and the other way round.
template <>
Interval share(const Line<Interval>& line, std::size_t i) {
  const auto corner = [&](bool own_high) {
    std::vector<double> scores(line.size());
    for (std::size_t j = 0; j < scores.size(); ++j) {
      scores[j] = (j == i) == own_high ? line(j).high : line(j).low;
    }
    return share(Line<double>{{scores, 1, scores.size()}, 0, false}, i);
  };
  return {corner(false), corner(true)};
}

void softmax_line(std::span<const double> scores, std::span<double> weights) {
  if (scores.empty()) return;
  const double top = *std::max_element(scores.begin(), scores.end());
  if (top == -infinity) return std::fill(weights.begin(), weights.end(), 0.0);  // all is hidden
  double total = 0;
  for (std::size_t j = 0; j < scores.size(); ++j) total += weights[j] = raised(scores[j], top);
  for (double& weight : weights) weight /= total;
}

// Rows of large tensors, which nobody checks digit by digit.
void softmax_long_line(std::span<const double> scores, std::span<double> weights) {
  if (!softmax_row(scores, weights)) softmax_line(scores, weights);
}

// The same two corners for a whole line, each e^x worked out once.
void softmax_bounds(const LineBounds& line) {
  const double top = *std::max_element(line.high.begin(), line.high.end());
  std::vector<double> low(line.low.size());
  std::vector<double> high(low.size());
  for (std::size_t j = 0; j < low.size(); ++j) {
    low[j] = raised(line.low[j], top);
    high[j] = raised(line.high[j], top);
  }
  const std::vector<double> other_lows = sums_of_others(low);
  const std::vector<double> other_highs = sums_of_others(high);
  // Where all vanish beside the top, the number itself is all that there is, or can be nothing.
  const auto part = [](double own, double others, double otherwise) {
    return own + others == 0 ? otherwise : own / (own + others);
  };
  for (std::size_t j = 0; j < low.size(); ++j) {
    line.result_low[j] = part(low[j], other_highs[j], 0);
    line.result_high[j] = part(high[j], other_lows[j], top == -infinity ? 0 : 1);
  }
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
    return share(line_of(c), place_in_line(c));
  }

  static Tensor compute(const Call& call) {
    Tensor weights = output_of(call, form(call));
    const bool is_large = weights.values.size() > teaching_numbers;
    return line_by_line(call, std::move(weights), is_large ? softmax_long_line : softmax_line);
  }

  static std::optional<Range> range(const Call& call, std::span<const Bounds> operands,
                                    const Tensor& result) {
    return range_by_line(call, operands[0], result, softmax_bounds);
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

// e^(x - top) of every cell, or e^x where `top` is none.
Tensor raised_cells(const Tensor& scores, bool below_top, double base) {
  Tensor result = scores;
  const std::size_t width = scores.columns();
  for (std::size_t i = 0; i < result.values.size(); i += width) {
    const auto row = std::span(result.values).subspan(i, width);
    const double top = below_top ? *std::max_element(row.begin(), row.end()) : 0;
    for (double& x : row) x = x == -infinity ? 0 : std::pow(base, x - top);
  }
  return result;
}

Tensor shares(const Source& step, const Tensor& positive) {
  Call call = call_of(step);
  call.inputs = {&positive};
  return normalise_operation.compute(call);
}

std::vector<Tensor> whole(const Source& step) {
  return {shares_of_whole(raised_cells(*step.inputs[0]->tensor, false, std::numbers::e))};
}

std::vector<Tensor> no_exp(const Source& step) {
  return {shares(step, without_infinities(*step.inputs[0]->tensor))};
}

std::vector<Tensor> not_normalised(const Source& step) {
  const Tensor& scores = *step.inputs[0]->tensor;
  return {raised_cells(scores, false, std::numbers::e),
          raised_cells(scores, true, std::numbers::e)};
}

std::vector<Tensor> base_2(const Source& step) {
  return {shares(step, raised_cells(*step.inputs[0]->tensor, true, 2))};
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
    {"softmax.unscaled", "The scores went in before they were scaled.",
     "Softmax takes the scaled scores.", unscaled},
    {"softmax.unmasked", "The mask was ignored.", "Hidden keys get weight 0.", unmasked},
    {"softmax.mask-after", "Weights were set to 0 after softmax, so the rows no longer sum to 1.",
     "Hide first, then softmax.", hidden_afterwards},
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
