// What holds for every operation of the catalogue, whatever it computes: a new operation is tested
// by these the moment it is in the list.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <string>

#include "ops/cell.hpp"
#include "support/samples.hpp"
#include "tensor/tensor.hpp"
#include "text/strings.hpp"
#include "trace/trace.hpp"

namespace ops_laws_tests {

using namespace qkv;
using namespace qkv::test;

namespace {

constexpr int trials = 60;
constexpr double relative = 1e-12;

std::string shown(const Work& work) {
  std::string text(work.operation().name);
  for (const Tensor& input : work.inputs()) text += " " + shape_text(input.shape());
  for (const auto& [name, value] : work.call().options->all()) {
    text += " " + name;
    if (const auto* word = std::get_if<std::string>(&value)) text += "=" + *word;
    if (const auto* number = std::get_if<double>(&value)) text += fmt::format("={}", *number);
  }
  return text;
}

bool close(double a, double b) {
  return a == b || std::abs(a - b) <= relative * std::max(std::abs(a), std::abs(b));
}

/// Each input with its lowest and its highest values, `unit` below and above.
struct Surroundings {
  std::vector<Tensor> low, high;
  std::vector<Bounds> bounds;

  Surroundings(const Sample& sample, double unit)
      : low(sample.work->inputs()), high(sample.work->inputs()) {
    for (std::size_t k = 0; k < low.size(); ++k) {
      if (!sample.is_exact[k]) {
        for (double& value : low[k].values.mutable_span()) value -= unit;
        for (double& value : high[k].values.mutable_span()) value += unit;
      }
      bounds.push_back({&low[k], &high[k]});
    }
  }
};

Interval interval_at(const Work& work, const Tensor& output, std::size_t i,
                     const Surroundings& around) {
  Cell<Interval> cell = cell_of<Interval>(work.call(), output, i);
  cell.bounds = around.bounds;
  return work.operation().cell.interval(cell);
}

bool contains(Interval interval, double value) {
  const double slack = std::isinf(value) ? 0 : relative * std::max(1.0, std::abs(value));
  return interval.low - slack <= value && value <= interval.high + slack;
}

/// The call worked out again with every cell moved: `move(k-th cell in all)` is from -1 to 1 units.
template <class Move>
Tensor moved(const Sample& sample, double unit, Move move) {
  std::vector<Tensor> inputs = sample.work->inputs();
  std::size_t count = 0;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (sample.is_exact[k]) continue;
    for (double& value : inputs[k].values.mutable_span()) value += unit * move(count++);
  }
  const auto& all = sample.work->call().options->all();
  return apply(sample.work->operation().name, std::move(inputs), OptionMap(all.begin(), all.end()),
               *sample.work->call().environment);
}

std::size_t rounded_cells(const Sample& sample) {
  std::size_t count = 0;
  for (std::size_t k = 0; k < sample.is_exact.size(); ++k) {
    if (!sample.is_exact[k]) count += sample.work->inputs()[k].values.size();
  }
  return count;
}

}  // namespace

namespace {

/// The first of many random calls of which `fault` has something to say; empty where none has.
template <class Fault>
std::string first_fault(const Operation& operation, unsigned seed, Extent extent, Fault fault) {
  Dice dice(seed);
  for (int trial = 0; trial < trials; ++trial) {
    const Sample made = sample(operation, extent, dice);
    const std::string wrong = fault(made, dice);
    if (!wrong.empty()) return shown(*made.work) + ", " + wrong;
  }
  return {};
}

/// The call worked out again with another number in one cell; nothing where it is refused.
std::optional<Tensor> with_number(const Sample& sample, std::size_t operand, std::size_t cell,
                                  double number) {
  std::vector<Tensor> inputs = sample.work->inputs();
  inputs[operand].values.mutable_span()[cell] = number;
  const auto& all = sample.work->call().options->all();
  try {
    return apply(sample.work->operation().name, std::move(inputs),
                 OptionMap(all.begin(), all.end()), *sample.work->call().environment);
  } catch (const InputError&) {
    return {};
  }
}

/// Where another number changes a cell, NaN in its place must make it NaN, or be refused.
std::string hidden_nan_fault(const Sample& made, Dice& dice) {
  const std::vector<Tensor>& inputs = made.work->inputs();
  if (inputs.empty()) return {};
  const std::size_t operand = dice.below(inputs.size());
  if (inputs[operand].values.size() == 0) return {};
  const std::size_t cell = dice.below(inputs[operand].values.size());
  const double number = inputs[operand].values[cell];
  const auto changed = with_number(made, operand, cell, number == 0 ? 1 : 0);
  const auto spoilt = with_number(made, operand, cell, std::nan(""));
  if (!changed || !spoilt) return {};
  const Tensor before = made.work->result();
  for (std::size_t i = 0; i < before.values.size(); ++i) {
    if (before.values[i] == changed->values[i] || std::isnan(spoilt->values[i])) continue;
    return fmt::format("operand {}, cell {}: result {} stays {}", operand, cell, i,
                       spoilt->values[i]);
  }
  return {};
}

/// How a reading of the cells' maths differs from the fast result.
template <class N, class Read>
std::string reading_fault(const Sample& made, Read read) {
  const Tensor fast = made.work->result();
  for (std::size_t i = 0; i < fast.values.size(); ++i) {
    const double slow = read(cell_of<N>(made.work->call(), fast, i));
    if (!close(fast.values[i], slow)) {
      return fmt::format("cell {}: {} and {}", i, fast.values[i], slow);
    }
  }
  return {};
}

std::string exact_interval_fault(const Sample& made, Dice&) {
  const Tensor fast = made.work->result();
  const Surroundings exact(made, 0);
  for (std::size_t i = 0; i < fast.values.size(); ++i) {
    const Interval interval = interval_at(*made.work, fast, i, exact);
    if (!contains(interval, fast.values[i])) {
      return fmt::format("cell {}: {} is not in [{}, {}]", i, fast.values[i], interval.low,
                         interval.high);
    }
  }
  return {};
}

std::vector<Interval> intervals_of(const Sample& made, const Tensor& fast, double unit) {
  const Surroundings around(made, unit);
  std::vector<Interval> intervals;
  for (std::size_t i = 0; i < fast.values.size(); ++i) {
    intervals.push_back(interval_at(*made.work, fast, i, around));
  }
  return intervals;
}

std::string rounding_fault(const Sample& made, Dice& dice) {
  constexpr double units[] = {0.0005, 0.05, 0.5};
  const double unit = units[dice.below(3)];
  const std::vector<Interval> intervals = intervals_of(made, made.work->result(), unit);
  for (int draw = 0; draw < 12; ++draw) {
    const bool corner = draw % 2 == 0;
    const Tensor other = moved(made, unit, [&](std::size_t) {
      return corner ? (dice.chance(50) ? 1.0 : -1.0) : dice.uniform();
    });
    for (std::size_t i = 0; i < other.values.size(); ++i) {
      if (!contains(intervals[i], other.values[i])) {
        return fmt::format("cell {}, ±{}: {} is not in [{}, {}]", i, unit, other.values[i],
                           intervals[i].low, intervals[i].high);
      }
    }
  }
  return {};
}

/// The range of every cell as far as trying finds it: all corners, and the way between two of them,
/// where GELU has a bend.
std::vector<Interval> ranges_of(const Sample& made, const Tensor& fast, double unit) {
  std::vector<Interval> ranges(fast.values.begin(), fast.values.end());
  const auto meet = [&](const Tensor& other) {
    for (std::size_t i = 0; i < ranges.size(); ++i) ranges[i] = hull(ranges[i], other.values[i]);
  };
  for (std::size_t corner = 0; corner < std::size_t{1} << rounded_cells(made); ++corner) {
    meet(moved(made, unit, [&](std::size_t k) { return (corner >> k & 1) != 0 ? 1.0 : -1.0; }));
  }
  for (int t = -32; t <= 32; ++t) meet(moved(made, unit, [&](std::size_t) { return t / 32.0; }));
  return ranges;
}

std::string width_fault(const Sample& made, Dice&) {
  constexpr double unit = 0.05;
  if (rounded_cells(made) > 10) return {};
  const Tensor fast = made.work->result();
  const std::vector<Interval> ranges = ranges_of(made, fast, unit);
  const std::vector<Interval> intervals = intervals_of(made, fast, unit);
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    if (std::isinf(fast.values[i])) continue;
    const double range = ranges[i].high - ranges[i].low;
    if (!(intervals[i].high - intervals[i].low <= 1.5 * range + relative)) {
      return fmt::format("cell {}: [{}, {}] for a range of [{}, {}]", i, intervals[i].low,
                         intervals[i].high, ranges[i].low, ranges[i].high);
    }
  }
  return {};
}

}  // namespace

TEST_CASE("every operation: the fast result is what each cell's own maths gives") {
  for (const Operation* operation : catalogue()) {
    CHECK(first_fault(*operation, 1, Extent::any, [&](const Sample& made, Dice&) {
            return reading_fault<double>(made, operation->cell.number);
          }) == "");
  }
}

TEST_CASE("every operation: the arithmetic that is shown comes out at the result") {
  for (const Operation* operation : catalogue()) {
    const auto read = [&](const Cell<Expression>& cell) {
      return operation->cell.expression(cell).value();
    };
    CHECK(first_fault(*operation, 2, Extent::any, [&](const Sample& made, Dice&) {
            return reading_fault<Expression>(made, read);
          }) == "");
  }
}

TEST_CASE("every operation: with exact inputs a cell's interval holds its value") {
  for (const Operation* operation : catalogue()) {
    CHECK(first_fault(*operation, 3, Extent::any, exact_interval_fault) == "");
  }
}

TEST_CASE("every operation: whatever rounding does to the inputs, the interval holds the result") {
  for (const Operation* operation : catalogue()) {
    CHECK(first_fault(*operation, 4, Extent::any, rounding_fault) == "");
  }
}

TEST_CASE("every operation: what is no number makes none of whatever it would change") {
  for (const Operation* operation : catalogue()) {
    CHECK(first_fault(*operation, 5, Extent::any, hidden_nan_fault) == "");
  }
}

TEST_CASE("the interval of a step is at most 1.5 times as wide as its true range", "[thorough]") {
  // It reads a text: nothing is rounded.
  constexpr std::string_view others[] = {"tokenise"};
  for (const Operation* operation : catalogue()) {
    if (std::ranges::find(others, operation->name) != std::end(others)) continue;
    CHECK(first_fault(*operation, 5, Extent::tiny, width_fault) == "");
  }
}

TEST_CASE("a large product has the cells that adding up by hand gives") {
  // Beyond the size of a lesson the products go to BLAS, which adds in another order.
  constexpr std::size_t n = 70;
  Dice dice(6);
  std::vector<double> a(n * n), b(n * n);
  for (double& x : a) x = dice.uniform();
  for (double& x : b) x = dice.uniform();
  for (const std::string_view name : {"score", "matmul", "project", "weighted_sum"}) {
    const Work work(name, {tensor_of({n, n}, a), tensor_of({n, n}, b)});
    const Tensor fast = work.result();
    double worst = 0;
    for (std::size_t i = 0; i < fast.values.size(); ++i) {
      const double slow = work.operation().cell.number(cell_of<double>(work.call(), fast, i));
      worst = std::max(worst, std::abs(fast.values[i] - slow));
    }
    INFO(name);
    CHECK(worst <= relative * n);
  }
}

TEST_CASE("the rows of weights sum to 1, however large the scores are") {
  Dice dice(7);
  for (const double size : {1e-3, 1.0, 30.0, 1e3, 1e300}) {
    Rows scores(6, std::vector<double>(5));
    for (auto& row : scores) {
      for (double& score : row) score = size * dice.uniform();
    }
    for (const auto& row : rows_of(apply("softmax", {matrix(scores)}))) {
      double sum = 0;
      for (const double weight : row) sum += weight;
      CHECK(sum == Approx(1).epsilon(1e-15).margin(1e-15));
    }
  }
}

TEST_CASE("shares of positive numbers sum to 1 along the axis that was asked for") {
  Dice dice(8);
  for (const std::string axis : {"rows", "columns"}) {
    Rows amounts(4, std::vector<double>(3));
    for (auto& row : amounts) {
      for (double& amount : row) amount = 1.001 + dice.uniform();
    }
    Tensor shares = apply("normalise", {matrix(amounts)}, {{"axis", axis}});
    if (axis == "columns") shares = transposed(shares);
    for (const auto& row : rows_of(shares)) {
      double sum = 0;
      for (const double share : row) sum += share;
      CHECK(sum == Approx(1).epsilon(1e-15).margin(1e-15));
    }
  }
}

TEST_CASE("a masked cell has weight exactly zero, and no other cell has") {
  Dice dice(9);
  Rows scores(6, std::vector<double>(6));
  for (auto& row : scores) {
    for (double& score : row) score = 5 * dice.uniform();
  }
  const Rows weights = rows_of(apply("softmax", {apply("mask", {matrix(scores)})}));
  for (std::size_t i = 0; i < 6; ++i) {
    for (std::size_t j = 0; j < 6; ++j) CHECK((weights[i][j] == 0) == (j > i));
  }
}

TEST_CASE("softmax in one step is shift, exp and normalise in three") {
  for (const std::string axis : {"rows", "columns"}) {
    const OptionMap along = {{"axis", axis}};
    const Tensor scores = matrix({{1, -infinity, 2.5},
                                  {-infinity, -infinity, -infinity},
                                  {-800, 3, 3},
                                  {0.1, 0.2, -infinity}});
    const Tensor three =
        apply("normalise", {apply("exp", {apply("shift", {scores}, along)})}, along);
    CHECK(difference(rows_of(apply("softmax", {scores}, along)), rows_of(three), 1e-15) == "");
  }
}

namespace {

/// Self-attention without positions or masks, as a lesson would have it.
Trace attention_over(const Rows& tokens) {
  Recipe recipe;
  recipe.givens = {{"X", matrix(tokens)},
                   {"W_Q", matrix({{0.3, -1.2}, {0.7, 0.4}, {-0.5, 0.9}})},
                   {"W_K", matrix({{1.1, 0.2}, {-0.6, 0.8}, {0.4, -0.3}})},
                   {"W_V", matrix({{0.5, 1.0}, {-1.5, 0.25}, {2.0, -0.75}})}};
  const auto step = [&](std::string name, std::string_view op, std::vector<std::string> of) {
    recipe.steps.push_back({std::move(name), find_operation(op), std::move(of), {}});
  };
  step("Q", "project", {"X", "W_Q"});
  step("K", "project", {"X", "W_K"});
  step("V", "project", {"X", "W_V"});
  step("scores", "score", {"Q", "K"});
  step("scaled_scores", "scale", {"scores"});
  step("attention_weights", "softmax", {"scaled_scores"});
  step("context", "weighted_sum", {"attention_weights", "V"});
  return evaluate(recipe);
}

}  // namespace

TEST_CASE("without positions attention does not see order: shuffled tokens give shuffled rows") {
  const Rows tokens = {{1, 0, 2}, {0.5, -1, 0}, {2, 2, -1}, {-0.5, 1, 1}};
  const std::size_t order[] = {2, 0, 3, 1};
  Rows shuffled;
  for (const std::size_t i : order) shuffled.push_back(tokens[i]);
  const Trace straight = attention_over(tokens);
  const Trace mixed = attention_over(shuffled);

  Rows context, weights;
  for (const std::size_t i : order) {
    context.push_back(rows_of(straight.at("context"))[i]);
    weights.emplace_back();
    for (const std::size_t j : order) {
      weights.back().push_back(rows_of(straight.at("attention_weights"))[i][j]);
    }
  }
  CHECK(difference(rows_of(mixed.at("context")), context, 1e-14) == "");
  CHECK(difference(rows_of(mixed.at("attention_weights")), weights, 1e-14) == "");
}

TEST_CASE("every operation: operands that do not fit are told with both sizes and both names") {
  std::size_t met = 0;
  for (const Operation* operation : catalogue()) {
    if (operation->min_operands < 2 || operation->name == "embed") continue;
    const Form form = operation->form(
        Work(operation->name, std::vector<Tensor>(operation->min_operands, matrix({{0}}))).call());
    const auto [first_rows, first_columns] = axis_names(form.operands[0]);
    for (std::size_t k = 1; k < operation->min_operands; ++k) {
      // Every axis is 3 long, but for one of operand k that it shares with the first operand.
      const auto [rows, columns] = axis_names(form.operands[std::min(k, form.operands.size() - 1)]);
      for (const bool spoils_rows : {true, false}) {
        const std::string_view axis = spoils_rows ? rows : columns;
        if (axis != first_rows && axis != first_columns) continue;
        std::vector<Tensor> inputs;
        for (std::size_t o = 0; o < operation->min_operands; ++o) {
          const auto [r, c] = axis_names(form.operands[std::min(o, form.operands.size() - 1)]);
          const std::size_t height = r == "1" ? 1 : (o == k && spoils_rows ? 2 : 3);
          const std::size_t width = c == "1" ? 1 : (o == k && !spoils_rows ? 2 : 3);
          inputs.push_back(zeros({{"", height}, {"", width}}));
        }
        const std::string first = shape_text(inputs[0].shape());
        const std::string size = shape_text(inputs[k].shape());
        const std::string said = refusal(operation->name, std::move(inputs));
        CHECK(said == fmt::format("step: {} is 3 in A ({}) but 2 in {} ({})", axis, first,
                                  static_cast<char>('A' + k), size));
        ++met;
      }
    }
  }
  CHECK(met >= 8);  // score, weighted_sum, matmul, project, add and multiply twice, layer_norm
                    // twice, rms_norm
}

}  // namespace ops_laws_tests
