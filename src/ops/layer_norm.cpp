#include <algorithm>
#include <cmath>
#include <vector>

#include "ops/catalogue.hpp"
#include "ops/shape_rule.hpp"

namespace qkv {
namespace {

constexpr OptionRule layer_norm_options[] = {
    {.name = "eps",
     .says = "what is added to the variance, so that nothing is divided by 0",
     .numbers = OptionRule::Numbers::not_negative},
};

// One cell of the norm, (x_i - mean) / √(variance + ε), over a box of rows: each x within `radius`
// of `middle`. Interval arithmetic would take the mean and the variance for strangers to x and come
// out many times too wide. The mean value theorem does not: the cell moves by at most the sum of
// |slope| · radius, the slopes being ∂cell_i/∂x_j = (δ_ij - 1/n - cell_i · cell_j / n) / √(…).
class NormedBox {
 public:
  NormedBox(std::vector<Interval> row, double eps) : row_(std::move(row)), eps_(eps) {
    double squares = 0;
    for (const Interval& x : row_) {
      middle_.push_back(x.low + (x.high - x.low) / 2);
      radius_.push_back((x.high - x.low) / 2);
      sum_.low += x.low;
      sum_.high += x.high;
      squares += radius_.back() * radius_.back();
    }
    // A row's deviation changes by at most the root mean square of its changes.
    const double root = deviation(middle_);
    const double change = std::sqrt(squares / width());
    root_ = {std::max(std::sqrt(eps_), root - change), root + change};
    for (std::size_t j = 0; j < row_.size(); ++j) cells_.push_back(cell_bounds(j));
  }

  Interval range(std::size_t i) const {
    if (!std::isfinite(root_.high) || root_.low <= 0) return cells_[i];
    double most = 0;
    double least = 0;
    for (std::size_t j = 0; j < row_.size(); ++j) {
      const Interval s = slope(i, j);
      most += std::max(std::abs(s.low), std::abs(s.high)) * radius_[j];
      least += std::max(s.low, -s.high) * radius_[j];  // negative where the sign is not sure
    }
    const double centre = cell(middle_, i);
    Interval safe = meet(cells_[i], {centre - most, centre + most});
    constexpr double near = 1.4;  // of what is allowed, 1.5
    if (most <= near * least) return safe;
    return meet(safe, climbed(i));
  }

 private:
  double width() const { return static_cast<double>(row_.size()); }

  static Interval meet(Interval a, Interval b) {
    return {std::max(a.low, b.low), std::min(a.high, b.high)};
  }

  double deviation(const std::vector<double>& x) const {
    double mean = 0;
    for (const double value : x) mean += value / width();
    double variance = 0;
    for (const double value : x) variance += (value - mean) * (value - mean) / width();
    return std::sqrt(variance + eps_);
  }

  double cell(const std::vector<double>& x, std::size_t i) const {
    double mean = 0;
    for (const double value : x) mean += value / width();
    return (x[i] - mean) / deviation(x);
  }

  // No cell is farther from 0 than √(n - 1).
  Interval cell_bounds(std::size_t i) const {
    const Interval own = row_[i];
    const Interval others{sum_.low - own.low, sum_.high - own.high};
    const double n = width();
    const Interval above{own.low * (1 - 1 / n) - others.high / n,
                         own.high * (1 - 1 / n) - others.low / n};
    const double most = std::sqrt(n - 1);
    return meet(above / root_, {-most, most});
  }

  Interval slope(std::size_t i, std::size_t j) const {
    const Interval own = (i == j ? 1.0 : 0.0) - 1 / width();
    return (own - cells_[i] * cells_[j] / width()) / root_;
  }

  // For boxes so wide that slopes change their signs: climbs from the middle to where no number can
  // be moved for the better, and adds a fifth for the hills that it may have missed.
  Interval climbed(std::size_t i) const {
    const double centre = cell(middle_, i);
    const double up = summit(i, 1) - centre;
    const double down = centre - summit(i, -1);
    constexpr double to_be_safe = 1.2;
    return {centre - to_be_safe * down, centre + to_be_safe * up};
  }

  double summit(std::size_t i, double way) const {
    constexpr int most_rounds = 30;
    double best = way * cell(middle_, i);
    for (const bool from_corner : {false, true}) {
      std::vector<double> x = middle_;
      for (std::size_t j = 0; from_corner && j < x.size(); ++j) {
        x[j] = (j == i) == (way > 0) ? row_[j].high : row_[j].low;
      }
      double height = way * cell(x, i);
      for (int round = 0; round < most_rounds; ++round) {
        const double before = height;
        for (std::size_t j = 0; j < x.size(); ++j) height = moved(x, i, j, way, height);
        if (height <= before) break;
      }
      best = std::max(best, height);
    }
    return way * best;
  }

  // x_j at whichever end or middle is best.
  double moved(std::vector<double>& x, std::size_t i, std::size_t j, double way,
               double height) const {
    double best = x[j];
    for (const double tried : {row_[j].low, row_[j].high, middle_[j]}) {
      x[j] = tried;
      const double there = way * cell(x, i);
      if (there <= height) continue;
      height = there;
      best = tried;
    }
    x[j] = best;
    return height;
  }

  std::vector<Interval> row_;
  double eps_;
  std::vector<double> middle_, radius_;
  Interval sum_ = 0.0;
  Interval root_;                // √(variance + ε)
  std::vector<Interval> cells_;  // of each, safe but wide
};

template <class N>
N root_of(const N& variance) {
  return sqrt(variance);
}

// Squares too large for a double leave no norm, rather than one of zeros.
template <>
double root_of(const double& variance) {
  return std::isinf(variance) ? std::nan("") : std::sqrt(variance);
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
    if constexpr (std::is_same_v<N, Interval>)
      return normed(c) * c(1)(0, c.column) + c(2)(0, c.column);
    const auto x = c(0);
    const N width = static_cast<double>(x.columns);
    const N eps = c.call->options->number("eps", 1e-5);
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

  static std::vector<Interval> row_of(const MatrixOf<Interval>& x, std::size_t row) {
    std::vector<Interval> cells;
    for (std::size_t j = 0; j < x.columns; ++j) cells.push_back(x(row, j));
    return cells;
  }

  static Interval normed(const Cell<Interval>& c) {
    const double eps = c.call->options->number("eps", 1e-5);
    return NormedBox(row_of(c(0), c.row), eps).range(c.column);
  }

  // A box for each row, not for each cell.
  static std::optional<Range> range(const Call& call, std::span<const Bounds> operands,
                                    const Tensor& result) {
    const double eps = call.options->number("eps", 1e-5);
    Range range{result, result};
    Cell<Interval> c;
    c.call = &call;
    c.output = &result;
    c.bounds = operands;
    for (; c.matrix < result.matrices(); ++c.matrix) {
      const auto x = c(0);
      const auto gain = c(1);
      const auto bias = c(2);
      for (std::size_t i = 0; i < result.rows(); ++i) {
        const NormedBox box(row_of(x, i), eps);
        for (std::size_t j = 0; j < result.columns(); ++j) {
          const Interval cell = box.range(j) * gain(0, j) + bias(0, j);
          range.low.matrix(c.matrix)[i * result.columns() + j] = cell.low;
          range.high.matrix(c.matrix)[i * result.columns() + j] = cell.high;
        }
      }
    }
    return range;
  }

  static void normalise(std::span<double> row, double eps) {
    const auto width = static_cast<double>(row.size());
    double mean = 0;
    for (const double x : row) mean += x;
    mean /= width;
    double variance = 0;
    for (const double x : row) variance += (x - mean) * (x - mean);
    variance /= width;
    const double root = root_of(variance + eps);
    for (double& x : row) x = (x - mean) / root;
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
  double less = 0;  // 1: divides by n - 1
  enum class Divide {
    by_root,
    by_variance,
    by_bare_variance,
    by_root_plus_eps
  } divide = Divide::by_root;
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
  if (habit.divide == Habit::Divide::by_bare_variance) divisor = variance;
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
          with_habit(step, {.divide = Habit::Divide::by_bare_variance}),
          with_habit(step, {.divide = Habit::Divide::by_root_plus_eps})};
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

constinit const Operation layer_norm_operation{
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
    .form = LayerNorm::form,
    .compute = LayerNorm::compute,
    .against_zero = "a row whose numbers are all the same needs an eps above 0",
    .cell = readings_of<LayerNorm>(),
    .range = LayerNorm::range,
    .mistakes = layer_norm_mistakes,
};

}  // namespace qkv
