// What holds for the way back of every operation of the catalogue: a new operation is tested by
// these the moment it is in the list.

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <string>

#include "ops/backward_rule.hpp"
#include "support/samples.hpp"
#include "text/error.hpp"

using namespace qkv;
using namespace qkv::test;

namespace {

constexpr int trials = 40;

/// The gradient of one operand of a random call, with all that its operation takes.
class BackWork {
 public:
  BackWork(const Sample& sample, std::size_t operand, Dice& dice)
      : forward_(*sample.work), operand_(operand), inputs_{forward_.result()} {
    const Call& there = forward_.call();
    const BackwardRule way =
        forward_.operation().backward({operand, there.inputs.size(), there.options});
    operation_ = way.operation;
    if (!operation_) return;
    arriving_ = inputs_[0];
    for (std::size_t i = 0; i < arriving_.values.size(); ++i) {
      double& change = arriving_.values.mutable_span()[i];
      change = std::isfinite(change) ? dice.uniform() : 0;  // nothing comes back to what is hidden
    }
    call_ = there;
    call_.step = "gradient";
    call_.inputs = {&arriving_, there.inputs[operand]};
    call_.names = {"dY", there.names[operand]};
    for (const std::size_t need : way.saved) {
      call_.inputs.push_back(need == BackwardRule::result ? &inputs_[0] : there.inputs[need]);
      call_.names.push_back(need == BackwardRule::result ? "Y" : there.names[need]);
    }
  }
  BackWork(const BackWork&) = delete;
  BackWork& operator=(const BackWork&) = delete;

  bool flows() const { return operation_ != nullptr; }
  const Operation& operation() const { return *operation_; }
  const Call& call() const { return call_; }
  Tensor result() const { return operation_->compute(call_); }

  /// How much all numbers of the result, each as often as its gradient says, change with cell i.
  double slope(std::size_t i) const {
    const double step = 1e-5;
    return (changed(i, step) - changed(i, -step)) / (2 * step);
  }

 private:
  double changed(std::size_t i, double by) const {
    std::vector<Tensor> inputs = forward_.inputs();
    inputs[operand_].values.mutable_span()[i] += by;
    const auto& all = forward_.call().options->all();
    const Tensor made = apply(forward_.operation().name, std::move(inputs),
                              OptionMap(all.begin(), all.end()), *forward_.call().environment);
    double sum = 0;
    for (std::size_t k = 0; k < made.values.size(); ++k) {
      if (std::isfinite(made.values[k])) sum += made.values[k] * arriving_.values[k];
    }
    return sum;
  }

  const Work& forward_;
  std::size_t operand_;
  std::vector<Tensor> inputs_;
  Tensor arriving_;
  const Operation* operation_ = nullptr;
  Call call_;
};

/// Whether an operand is +inf somewhere: what it makes has no slope.
bool grows_without_end(const Tensor& tensor) {
  return std::ranges::find(tensor.values, INFINITY) != tensor.values.end();
}

/// The first of many random gradients of which `fault` has something to say; empty where none has.
template <class Fault>
std::string first_fault(const Operation& operation, unsigned seed, Fault fault) {
  Dice dice(seed);
  for (int trial = 0; trial < trials; ++trial) {
    const Sample made = sample(operation, Extent::any, dice);
    if (std::ranges::any_of(made.work->inputs(), grows_without_end)) continue;
    for (std::size_t k = 0; k < made.work->inputs().size(); ++k) {
      const BackWork back(made, k, dice);
      if (!back.flows()) continue;
      const std::string wrong = fault(back);
      if (!wrong.empty()) return fmt::format("{}, operand {}: {}", operation.name, k + 1, wrong);
    }
  }
  return {};
}

bool is_near(double a, double b, double within) {
  return std::abs(a - b) <= within * std::max({1.0, std::abs(a), std::abs(b)});
}

std::string slope_fault(const BackWork& back) {
  const Tensor gradient = back.result();
  const Tensor& own = *back.call().inputs[1];
  if (gradient.values.size() != own.values.size()) return "its size is not the operand's";
  for (std::size_t i = 0; i < own.values.size(); ++i) {
    if (!std::isfinite(own.values[i])) continue;
    const double slope = back.slope(i);
    if (!is_near(gradient.values[i], slope, 1e-6)) {
      return fmt::format("cell {}: {}, and by differences {}", i, gradient.values[i], slope);
    }
  }
  return {};
}

std::string reading_fault(const BackWork& back) {
  const Tensor fast = back.result();
  for (std::size_t i = 0; i < fast.values.size(); ++i) {
    const double number = back.operation().cell.number(cell_of<double>(back.call(), fast, i));
    const double arithmetic =
        back.operation().cell.expression(cell_of<Expression>(back.call(), fast, i)).value();
    if (!is_near(fast.values[i], number, 1e-12) || !is_near(number, arithmetic, 1e-12)) {
      return fmt::format("cell {}: {}, {} and {}", i, fast.values[i], number, arithmetic);
    }
  }
  return {};
}

/// The operands within `unit`, but for those that count or name something.
std::string interval_fault(const BackWork& back, Dice& dice, double unit) {
  const Tensor fast = back.result();
  std::vector<Tensor> low, high, other;
  for (const Tensor* input : back.call().inputs) {
    low.push_back(*input);
    high.push_back(*input);
    other.push_back(*input);
    for (std::size_t i = 0; i < input->values.size(); ++i) {
      low.back().values.mutable_span()[i] -= unit;
      high.back().values.mutable_span()[i] += unit;
      other.back().values.mutable_span()[i] += unit * (dice.chance(50) ? 1 : dice.uniform());
    }
  }
  std::vector<Bounds> bounds;
  Call moved = back.call();
  for (std::size_t k = 0; k < low.size(); ++k) {
    bounds.push_back({&low[k], &high[k]});
    moved.inputs[k] = &other[k];
  }
  const Tensor changed = back.operation().compute(moved);
  for (std::size_t i = 0; i < fast.values.size(); ++i) {
    Cell<Interval> cell = cell_of<Interval>(back.call(), fast, i);
    cell.bounds = bounds;
    const Interval interval = back.operation().cell.interval(cell);
    const double slack = 1e-9 * std::max(1.0, std::abs(changed.values[i]));
    if (changed.values[i] < interval.low - slack || changed.values[i] > interval.high + slack) {
      return fmt::format("cell {}: {} is not in [{}, {}]", i, changed.values[i], interval.low,
                         interval.high);
    }
  }
  return {};
}

bool has_exact_operands(const Operation& operation) {
  constexpr std::string_view names[] = {"embed", "mask", "cross_entropy"};
  return std::ranges::find(names, operation.name) != std::end(names);
}

}  // namespace

TEST_CASE("every operation knows its way back") {
  for (const Operation* operation : catalogue()) {
    INFO(operation->name << ": write its gradients and give it a way_back (ops/way_back.hpp), or "
                            "no_way_back where none flows");
    CHECK(operation->backward != nullptr);
  }
}

TEST_CASE("every gradient is what central differences give") {
  for (const Operation* operation : catalogue()) {
    CHECK(first_fault(*operation, 1, slope_fault) == "");
  }
}

TEST_CASE("every gradient: the fast result, each cell's own maths and the arithmetic shown agree") {
  for (const Operation* operation : catalogue()) {
    CHECK(first_fault(*operation, 2, reading_fault) == "");
  }
}

TEST_CASE("every gradient: whatever rounding does to what it is made of, the interval holds it") {
  for (const Operation* operation : catalogue()) {
    if (has_exact_operands(*operation)) continue;
    Dice dice(3);
    const double units[] = {0.0005, 0.05, 0.3};
    CHECK(first_fault(*operation, 3, [&](const BackWork& back) {
            return interval_fault(back, dice, units[dice.below(3)]);
          }) == "");
  }
}
