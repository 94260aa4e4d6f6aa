// What holds for the gradients of every operation of the catalogue: a new operation is tested by
// these as soon as it is in the list.

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <numbers>
#include <string>
#include <vector>

#include "ops/operation.hpp"
#include "support/samples.hpp"
#include "text/strings.hpp"

namespace ops_backward_tests {

using namespace qkv;
using namespace qkv::test;

namespace {

constexpr int trials = 40;

/// Reverse-mode differentiation of a cell's arithmetic. The leaves of an `Expression` name operand
/// cells, so one sweep from the result to the leaves gives the derivative by each of them.
class Reverse {
 public:
  Reverse(const Call& call, std::size_t operand)
      : call_(call), operand_(operand), gradient_(call.inputs[operand]->values.size()) {}

  /// Adds `weight` times the derivative of the expression.
  void add(const Expression& result, double weight) {
    visit(result);
    adjoint_[result.identity()] = weight;
    for (; !order_.empty(); order_.pop_back()) pass_on(order_.back());
    adjoint_.clear();
  }

  const std::vector<double>& gradient() const { return gradient_; }

 private:
  using Kind = Expression::Kind;

  // Lists all terms, each behind its parts, and a term that occurs twice once.
  void visit(const Expression& term) {
    if (!adjoint_.emplace(term.identity(), 0).second) return;
    for (const Expression& part : term.parts()) visit(part);
    order_.push_back(term);
  }

  void pass_on(const Expression& term) {
    const double weight = adjoint_.at(term.identity());
    if (weight == 0) return;
    if (term.kind() == Kind::cell && term.place().operand == operand_) {
      const CellPlace& at = term.place();
      const Tensor& own = *call_.inputs[operand_];
      gradient_[(at.matrix * own.rows() + at.row) * own.columns() + at.column] += weight;
    }
    for (std::size_t k = 0; k < term.parts().size(); ++k) {
      adjoint_.at(term.parts()[k].identity()) += weight * slope(term, k);
    }
  }

  // The derivative of a term by its part k.
  static double slope(const Expression& term, std::size_t k) {
    const auto part = [&](std::size_t at) { return term.parts()[at].value(); };
    const double y = term.value();
    const double x = part(0);
    switch (term.kind()) {
      case Kind::sum: return 1;
      case Kind::difference: return k == 0 ? 1 : -1;
      case Kind::product: return part(1 - k);
      case Kind::quotient: return k == 0 ? 1 / part(1) : -y / part(1);
      case Kind::negative: return -1;
      case Kind::root: return 0.5 / y;
      case Kind::exponential: return y;
      case Kind::logarithm: return 1 / x;
      case Kind::sine: return std::cos(x);
      case Kind::cosine: return -std::sin(x);
      case Kind::hyperbolic_tangent: return 1 - y * y;
      case Kind::error_function: return 2 / std::sqrt(std::numbers::pi) * std::exp(-x * x);
      case Kind::power: return k == 0 ? part(1) * std::pow(x, part(1) - 1) : y * std::log(x);
      case Kind::maximum: return part(k) == y ? 1 : 0;
      case Kind::number:
      case Kind::cell: break;
    }
    return 0;
  }

  const Call& call_;
  std::size_t operand_;
  std::map<const void*, double> adjoint_;
  std::vector<Expression> order_;
  std::vector<double> gradient_;
};

/// The gradient of one operand of a random call, with all that its operation takes.
class BackWork {
 public:
  BackWork(const Sample& sample, std::size_t operand, Dice& dice)
      : forward_(*sample.work), operand_(operand), inputs_{forward_.result()} {
    const Call& there = forward_.call();
    const BackwardRule rule =
        forward_.operation().backward({operand, there.inputs.size(), there.options});
    operation_ = rule.operation;
    if (!operation_) return;
    grad_output_ = inputs_[0];
    for (std::size_t i = 0; i < grad_output_.values.size(); ++i) {
      double& change = grad_output_.values.mutable_span()[i];
      change = std::isfinite(change) ? dice.uniform() : 0;  // nothing comes back to what is hidden
    }
    call_ = there;
    call_.step = "gradient";
    call_.inputs = {&grad_output_, there.inputs[operand]};
    call_.names = {"dY", there.names[operand]};
    for (const Role saved : rule.saved) {
      const auto k = static_cast<std::size_t>(saved);
      call_.inputs.push_back(saved == Role::output ? &inputs_[0] : there.inputs[k]);
      call_.names.push_back(saved == Role::output ? "Y" : there.names[k]);
    }
  }
  BackWork(const BackWork&) = delete;
  BackWork& operator=(const BackWork&) = delete;

  bool flows() const { return operation_ != nullptr; }
  const Operation& operation() const { return *operation_; }
  const Call& call() const { return call_; }
  Tensor result() const { return operation_->compute(call_); }

  /// The exact gradient: each cell of the forward result as an `Expression`, differentiated.
  std::vector<double> derivative() const {
    Reverse reverse(forward_.call(), operand_);
    for (std::size_t i = 0; i < inputs_[0].values.size(); ++i) {
      if (grad_output_.values[i] == 0) continue;
      reverse.add(
          forward_.operation().cell.expression(cell_of<Expression>(forward_.call(), inputs_[0], i)),
          grad_output_.values[i]);
    }
    return reverse.gradient();
  }

  /// False where the result jumps: a row of zeros has shares 0, but anything more in it a share
  /// of 1.
  bool has_slope(std::size_t i) const {
    std::vector<Tensor> inputs = forward_.inputs();
    inputs[operand_].values.mutable_span()[i] += 1e-7;
    const auto& all = forward_.call().options->all();
    const Tensor moved = apply(forward_.operation().name, std::move(inputs),
                               OptionMap(all.begin(), all.end()), *forward_.call().environment);
    return std::ranges::equal(moved.values, inputs_[0].values, [](double there, double here) {
      return there == here || std::abs(there - here) < 1e-3;
    });
  }

 private:
  const Work& forward_;
  std::size_t operand_;
  std::vector<Tensor> inputs_;
  Tensor grad_output_;
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

std::string derivative_fault(const BackWork& back) {
  const Tensor gradient = back.result();
  const Tensor& own = *back.call().inputs[1];
  if (gradient.values.size() != own.values.size()) return "its size is not the operand's";
  const std::vector<double> exact = back.derivative();
  for (std::size_t i = 0; i < own.values.size(); ++i) {
    if (!std::isfinite(own.values[i])) continue;
    if (!is_near(gradient.values[i], exact[i], 1e-11) && back.has_slope(i)) {
      return fmt::format("cell {}: {}, and exactly {}", i, gradient.values[i], exact[i]);
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

TEST_CASE("every operation has a backward rule") {
  for (const Operation* operation : catalogue()) {
    INFO(operation->name << ": give it a `backward` (ops/operation.hpp), or NoGradient where "
                            "no gradient flows");
    CHECK(operation->backward != nullptr);
  }
}

TEST_CASE("every gradient is the exact derivative of the cells' arithmetic") {
  for (const Operation* operation : catalogue()) {
    CHECK(first_fault(*operation, 1, derivative_fault) == "");
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

}  // namespace ops_backward_tests
