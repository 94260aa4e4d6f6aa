#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/catalogue.hpp"
#include "ops/line.hpp"
#include "ops/shape_rule.hpp"

namespace qkv {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// e^(x - top), with the two limits that a subtraction of infinities would lose: a hidden score adds
// nothing, and scores of +inf share the row among themselves.
double raised(double x, double top) {
  if (x == -infinity) return 0;
  return top == infinity ? (x == infinity ? 1 : 0) : std::exp(x - top);
}

double number_of(double x) { return x; }
double number_of(const Expression& x) { return x.value(); }

Expression raised(const Expression& x, const Expression& top) {
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
  if (top == -infinity) return;  // everything is hidden: the weights stay 0
  double total = 0;
  for (std::size_t j = 0; j < scores.size(); ++j) total += weights[j] = raised(scores[j], top);
  for (double& weight : weights) weight /= total;
}

struct Softmax {
  static Form form(const Call& call) {
    const bool down = goes_down(call);
    return {{"row column"}, "row column", down ? "softmax of each column of {0}"
                                               : "softmax of each row of {0}",
            down ? "softmax of each row of {0}" : "softmax of each column of {0}"};
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    return share(line_of(c), place_in_line(c));
  }

  static Tensor compute(const Call& call) {
    return line_by_line(call, output_of(call, form(call)), softmax_line);
  }

  // The three strides of a softmax by hand, as their own operations take them.
  static std::vector<Part> parts(const Call& call) {
    Call stride = call;
    Tensor shifted = shift_operation.compute(stride);
    stride.inputs = {&shifted};
    Tensor raised_up = exp_operation.compute(stride);
    return {{"minus the largest of the line", std::move(shifted)},
            {"e to that power", std::move(raised_up)}};
  }
};

}  // namespace

constinit const Operation softmax_operation{
    .name = "softmax",
    .title = "Turn scores into weights",
    .says = "Softmax makes every number positive (e to its power) and divides by the sum, so that "
            "the weights of a query add up to 1. Larger scores get more than their share.",
    .notice = "Which weight is the largest for each query, and by how much?",
    .options = line_options,
    .form = Softmax::form,
    .compute = Softmax::compute,
    .cell = readings_of<Softmax>(),
    .parts = Softmax::parts,
};

}  // namespace qkv
