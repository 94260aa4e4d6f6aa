#include <cmath>

#include "ops/catalogue.hpp"
#include "ops/shape_rule.hpp"

namespace qkv {
namespace {

constexpr OptionRule layer_norm_options[] = {
    {.name = "eps",
     .says = "what is added to the variance, so that nothing is divided by 0",
     .numbers = OptionRule::Numbers::any},
};

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
    using std::sqrt;
    const auto x = c(0);
    const N width = static_cast<double>(x.columns);
    const N eps = c.call->options->number("eps", 1e-5);
    const N mean = sum<N>(x.columns, [&](std::size_t t) { return x(c.row, t); }) / width;
    const N variance = sum<N>(x.columns, [&](std::size_t t) {
                         const N difference = x(c.row, t) - mean;
                         return difference * difference;
                       }) / width;
    return (x(c.row, c.column) - mean) / sqrt(variance + eps) * c(1)(0, c.column) +
           c(2)(0, c.column);
  }

  static void normalise(std::span<double> row, double eps) {
    const auto width = static_cast<double>(row.size());
    double mean = 0;
    for (const double x : row) mean += x;
    mean /= width;
    double variance = 0;
    for (const double x : row) variance += (x - mean) * (x - mean);
    variance /= width;
    for (double& x : row) x = (x - mean) / std::sqrt(variance + eps);
  }

  static Tensor compute(const Call& call) {
    Tensor result = output_of(call, form(call));
    CellBase at{.call = &call, .output = &result};
    const std::size_t width = result.columns();
    const double eps = call.options->number("eps", 1e-5);
    for (at.matrix = 0; at.matrix < result.matrices(); ++at.matrix) {
      const auto from = call.inputs[0]->matrix(at.matching(0));
      const auto gain = call.inputs[1]->matrix(at.matching(1));
      const auto bias = call.inputs[2]->matrix(at.matching(2));
      const auto to = result.matrix(at.matrix);
      std::copy(from.begin(), from.end(), to.begin());
      for (std::size_t i = 0; i < to.size(); i += width) {
        normalise(to.subspan(i, width), eps);
        for (std::size_t j = 0; j < width; ++j) to[i + j] = to[i + j] * gain[j] + bias[j];
      }
    }
    return result;
  }
};

// What a learner makes of the variance of a row.
struct Habit {
  double less = 0;             // 1: divides by n - 1
  enum class Divide { by_root, by_variance, by_root_plus_eps } divide = Divide::by_root;
  bool gain = true;
  bool bias = true;
};

void work(std::span<double> row, double eps, const Habit& habit) {
  const auto width = static_cast<double>(row.size());
  double mean = 0;
  for (const double x : row) mean += x / width;
  double variance = 0;
  for (const double x : row) variance += (x - mean) * (x - mean) / (width - habit.less);
  double divisor = std::sqrt(variance + eps);
  if (habit.divide == Habit::Divide::by_variance) divisor = variance + eps;
  if (habit.divide == Habit::Divide::by_root_plus_eps) divisor = std::sqrt(variance) + eps;
  for (double& x : row) x = (x - mean) / divisor;
}

Tensor with_habit(const Source& step, const Habit& habit, bool down = false) {
  const Call call = call_of(step);
  Tensor result = output_of(call, LayerNorm::form(call));
  CellBase at{.call = &call, .output = &result};
  for (std::size_t m = 0; m < result.matrices(); ++m) {
    at.matrix = m;
    const auto from = call.inputs[0]->matrix(at.matching(0));
    std::copy(from.begin(), from.end(), result.matrix(m).begin());
  }
  if (down) result = transposed(result);
  const double eps = call.options->number("eps", 1e-5);
  const std::size_t length = result.columns();
  for (std::size_t i = 0; i < result.values.size(); i += length) {
    work(std::span(result.values).subspan(i, length), eps, habit);
  }
  if (down) result = transposed(result);
  const std::size_t width = result.columns();
  for (at.matrix = 0; at.matrix < result.matrices(); ++at.matrix) {
    const auto gain = call.inputs[1]->matrix(at.matching(1));
    const auto bias = call.inputs[2]->matrix(at.matching(2));
    const auto cells = result.matrix(at.matrix);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (habit.gain) cells[i] *= gain[i % width];
      if (habit.bias) cells[i] += bias[i % width];
    }
  }
  return result;
}

std::vector<Tensor> sample_variance(const Source& step) {
  if (step.inputs[0]->tensor->columns() < 2) return {};
  return {with_habit(step, {.less = 1})};
}

std::vector<Tensor> columns(const Source& step) { return {with_habit(step, {}, true)}; }

std::vector<Tensor> no_gain(const Source& step) {
  return {with_habit(step, {.gain = false}), with_habit(step, {.gain = false, .bias = false})};
}

std::vector<Tensor> standard_deviation(const Source& step) {
  return {with_habit(step, {.divide = Habit::Divide::by_variance}),
          with_habit(step, {.divide = Habit::Divide::by_root_plus_eps})};
}

constexpr Mistake layer_norm_mistakes[] = {
    {"layer-norm.sample-variance", "The variance was divided by n - 1 instead of n.",
     "Layer norm divides the sum of squares by the whole width.", sample_variance},
    {"layer-norm.columns", "The columns were normalised instead of the rows.",
     "Each token is normalised by itself.", columns},
    {"layer-norm.no-gain", "The gain was left out.", "After dividing comes · gain + bias.", no_gain},
    {"layer-norm.standard-deviation", "It was divided by the variance, or ε was added to the root.",
     "Divide by √(variance + ε).", standard_deviation},
};

}  // namespace

constinit const Operation layer_norm_operation{
    .name = "layer_norm",
    .title = "Bring each token to mean 0 and variance 1",
    .says = "From each row its mean is subtracted, and the rest is divided by its standard deviation "
            "(the root of the mean square). Then a learned gain and bias for each feature.",
    .notice = "Rows that differed only in size or offset come out alike.",
    .fewest = 3,
    .most = 3,
    .options = layer_norm_options,
    .form = LayerNorm::form,
    .compute = LayerNorm::compute,
    .cell = readings_of<LayerNorm>(),
    .mistakes = layer_norm_mistakes,
};

}  // namespace qkv
