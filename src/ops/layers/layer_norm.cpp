#include <numeric>
#include <vector>

#include "ops/catalogue.hpp"
#include "ops/kinds/formula.hpp"
#include "ops/layers/layer_norm.hpp"
#include "ops/layers/norm_backward.hpp"
#include "ops/numbers/root_of.hpp"
#include "ops/result.hpp"
#include "ops/shape_rule.hpp"

namespace qkv {
namespace {

constexpr OptionRule layer_norm_options[] = {
    {.name = "eps",
     .says = "what is added to the variance, so that nothing is divided by 0",
     .numbers = OptionRule::Numbers::not_negative},
};

double eps_of(const Call& call) { return call.options->number("eps", 1e-5); }

double mean_of(const ArrayView<1>& x) {
  return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
}

double variance_of(const ArrayView<1>& x, double mean) {
  const Vector distance = x - mean;
  return std::inner_product(distance.begin(), distance.end(), distance.begin(), 0.0) /
         static_cast<double>(x.size());
}

struct LayerNorm {
  static Form form(const Call&) {
    return {{"row column", "1 column", "1 column"},
            "row column",
            "(each row of {0} − its mean) / √(its variance + ε) · {1} + {2}",
            "(each column of {0} − its mean) / √(its variance + ε) · {1} + {2}"};
  }

  // Ba, Kiros and Hinton (2016): the variance is divided by the width, not by the width less one.
  template <class N>
  static N cell(const Cell<N>& c) {
    if constexpr (std::is_same_v<N, Interval>) {
      return box_of_row(c).range(c.column) * c(1)(0, c.column) + c(2)(0, c.column);
    }
    const auto x = c(0);
    const N width = static_cast<double>(x.columns);
    const N eps = eps_of(*c.call);
    const N mean = sum<N>(x.columns, [&](std::size_t t) { return x(c.row, t); }) / width;
    const N variance = sum<N>(x.columns,
                              [&](std::size_t t) {
                                const N difference = x(c.row, t) - mean;
                                return difference * difference;
                              }) /
                       width;
    return (x(c.row, c.column) - mean) / root_of(variance + eps) * c(1)(0, c.column) +
           c(2)(0, c.column);
  }

  static NormedBox box_of_row(const Cell<Interval>& c) {
    const auto x = c(0);
    std::vector<Interval> cells;
    for (std::size_t j = 0; j < x.columns; ++j) cells.push_back(x(c.row, j));
    return {std::move(cells), eps_of(*c.call)};
  }

  // A box for each row, not for each cell.
  static std::optional<Range> range(const Call& call, std::span<const Bounds> operands,
                                    const Tensor& result) {
    Range range{unwritten(result.axes), unwritten(result.axes)};
    Cell<Interval> c{{.call = &call, .output = &result}, operands};
    for (; c.matrix < result.matrices(); ++c.matrix) {
      MatrixToWrite low = range.low.write_matrix(c.matrix);
      MatrixToWrite high = range.high.write_matrix(c.matrix);
      const auto gain = c(1);
      const auto bias = c(2);
      for (c.row = 0; c.row < result.rows(); ++c.row) {
        const NormedBox box = box_of_row(c);
        for (std::size_t j = 0; j < result.columns(); ++j) {
          const Interval cell = box.range(j) * gain(0, j) + bias(0, j);
          low(c.row, j) = cell.low;
          high(c.row, j) = cell.high;
        }
      }
    }
    return range;
  }

  static Tensor compute(const Call& call) {
    const double eps = eps_of(call);
    constexpr std::size_t operations = 16;
    return by_rows(call, output_of(call, form(call)), operations,
                   [&](const Operands& of, std::span<double> cells) {
                     const std::array width = {cells.size()};
                     const auto x = seen_as<1>(of.row(0), width);
                     const double mean = mean_of(x);
                     const double root = root_of(variance_of(x, mean) + eps);
                     auto normed = seen_as<1>(cells, width);
                     xt::noalias(normed) = (x - mean) / root * seen_as<1>(of.row(1), width) +
                                           seen_as<1>(of.row(2), width);
                   });
  }
};

// The rows, or the columns, brought to mean 0 and divided by what `divisor` makes of their
// variance.
using Divisor = Matrix (*)(const Matrix& variance, double eps);
Matrix by_root(const Matrix& variance, double eps) { return xt::sqrt(variance + eps); }

struct Habit {
  double less = 0;  // 1: the variance is divided by n - 1
  Along along = Along::rows;
  Divisor divisor = by_root;
  bool gain = true;
  bool bias = true;
};

Tensor with_habit(const Source& step, const Habit& habit) {
  const Call call = call_of(step);
  const double eps = eps_of(call);
  return by_operands(call, LayerNorm::form(call), [&](const Operands& of) {
    const Matrix x = of(0);
    const Matrix variance = variances(x, habit.along, habit.less);
    Matrix result = (x - means(x, habit.along)) / habit.divisor(variance, eps);
    if (habit.gain) result = result * of(1);
    if (habit.bias) result = result + of(2);
    return result;
  });
}

std::vector<Tensor> sample_variance(const Source& step) {
  if (step.operand().columns() < 2) return {};
  return {with_habit(step, {.less = 1})};
}

std::vector<Tensor> columns(const Source& step) {
  return {with_habit(step, {.along = Along::columns})};
}

std::vector<Tensor> no_gain(const Source& step) {
  return {with_habit(step, {.gain = false}), with_habit(step, {.gain = false, .bias = false})};
}

std::vector<Tensor> standard_deviation(const Source& step) {
  constexpr Divisor by_variance = [](const Matrix& v, double eps) -> Matrix { return v + eps; };
  constexpr Divisor by_bare_variance = [](const Matrix& v, double) -> Matrix { return v; };
  constexpr Divisor by_root_plus_eps = [](const Matrix& v, double eps) -> Matrix {
    return xt::sqrt(v) + eps;
  };
  return {with_habit(step, {.divisor = by_variance}),
          with_habit(step, {.divisor = by_bare_variance}),
          with_habit(step, {.divisor = by_root_plus_eps})};
}

constexpr Mistake layer_norm_mistakes[] = {
    {"layer-norm.sample-variance", "The variance was divided by n - 1 instead of n.",
     "Layer norm divides the sum of squares by the whole width.", sample_variance},
    {"layer-norm.columns", "The columns were normalised instead of the rows.",
     "Each token is normalised by itself.", columns},
    {"layer-norm.no-gain", "The gain was left out.", "After dividing comes · gain + bias.",
     no_gain},
    {"layer-norm.standard-deviation", "It was divided by the variance, or ε was added to the root.",
     "Divide by √(variance + ε).", standard_deviation},
};

}  // namespace

constinit const Operation layer_norm_operation = operation_of<LayerNorm>({
    .name = "layer_norm",
    .title = "Bring each token to mean 0 and variance 1",
    .says =
        "From each row its mean is subtracted, and the rest is divided by its standard deviation "
        "(the root of the mean square). Then a learned gain and bias for each feature.",
    .notice = "Rows that differed only in size or offset come out alike.",
    .operands = R"(["X", "gain", "bias"])",
    .fewest = 3,
    .most = 3,
    .options = layer_norm_options,
    .against_zero = "a row whose numbers are all the same needs an eps above 0",
    .mistakes = layer_norm_mistakes,
    .way_back = back_through_layer_norm,
});

}  // namespace qkv
