// How exact the numbers are, at any size that a double can have. The reference is each cell's own
// arithmetic worked out with the 64 bits of a long double, and beside every value goes a bound on
// what rounding to 53 bits can have done to it, whatever the order of the additions: the running
// error analysis of Higham (Accuracy and Stability of Numerical Algorithms, section 3.3).

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <string>

#include "support/samples.hpp"
#include "tensor/tensor.hpp"

namespace ops_numbers_tests {

using namespace qkv;
using namespace qkv::test;

namespace {

using Kind = Expression::Kind;

constexpr double largest = std::numeric_limits<double>::max();
constexpr long double unit = 0x1p-53L;        // half a unit in the last place of 1
constexpr long double smallest = 0x1p-1074L;  // what is lost below it is lost

static_assert(std::numeric_limits<long double>::digits >= 64, "the reference needs more bits");

struct Bounded {
  long double value = 0;
  long double error = 0;  ///< what double arithmetic may be off by
  bool beyond = false;    ///< somewhere on the way is a number that no double can be
};

Bounded rounded(long double value, long double error, long double units, bool beyond) {
  if (!std::isfinite(value)) return {value, 0, beyond};
  return {value, error + units * unit * std::abs(value) + smallest,
          beyond || std::abs(value) > static_cast<long double>(largest)};
}

Bounded sum_of(const std::vector<Bounded>& parts) {
  long double sum = 0, error = 0, size = 0;
  bool beyond = false;
  for (const Bounded& part : parts) {
    sum += part.value;
    error += part.error;
    if (std::isfinite(part.value)) size += std::abs(part.value) + part.error;
    beyond = beyond || part.beyond;
  }
  beyond = beyond || size > static_cast<long double>(largest);
  return rounded(sum, error + static_cast<long double>(parts.size()) * unit * size, 1, beyond);
}

Bounded product_of(const Bounded& a, const Bounded& b) {
  const long double error =
      std::abs(a.value) * b.error + std::abs(b.value) * a.error + a.error * b.error;
  return rounded(a.value * b.value, error, 1, a.beyond || b.beyond);
}

Bounded quotient_of(const Bounded& a, const Bounded& b) {
  const long double value = a.value / b.value;
  const long double least = std::abs(b.value) - b.error;
  const bool beyond = a.beyond || b.beyond || least <= 0;  // who divides by nothing known
  return rounded(value, (a.error + std::abs(value) * b.error) / least, 1, beyond);
}

Bounded root_of(const Bounded& x) {
  const long double low = std::sqrt(std::max(0.0L, x.value - x.error));
  return rounded(std::sqrt(x.value), std::sqrt(x.value + x.error) - low, 1, x.beyond);
}

// The functions of the library are right to within a unit in the last place: two halves.
Bounded function_of(long double value, long double steepest, const Bounded& x) {
  return rounded(value, steepest * x.error, 2, x.beyond);
}

Bounded power_of(const Bounded& base, const Bounded& exponent) {
  const long double value = std::pow(base.value, exponent.value);
  const long double error = std::abs(value * std::log(base.value)) * exponent.error;
  return rounded(value, error, 2, base.beyond || exponent.beyond || base.error > 0);
}

Bounded negative_of(const Bounded& x) { return {-x.value, x.error, x.beyond}; }

Bounded largest_of(const std::vector<Bounded>& parts) {
  Bounded top = parts.front();
  for (const Bounded& part : parts) {
    top.value = std::max(top.value, part.value);
    top.error = std::max(top.error, part.error);
    top.beyond = top.beyond || part.beyond;
  }
  return top;
}

Bounded evaluated(const Expression& expression) {
  std::vector<Bounded> x;
  for (const Expression& part : expression.parts()) x.push_back(evaluated(part));
  switch (expression.kind()) {
    case Kind::number:
    case Kind::cell: return {expression.value(), 0, false};
    case Kind::sum: return sum_of(x);
    case Kind::difference: return sum_of({x[0], negative_of(x[1])});
    case Kind::product: return product_of(x[0], x[1]);
    case Kind::quotient: return quotient_of(x[0], x[1]);
    case Kind::negative: return negative_of(x[0]);
    case Kind::root: return root_of(x[0]);
    case Kind::exponential:
      return function_of(std::exp(x[0].value), std::exp(x[0].value + x[0].error), x[0]);
    case Kind::logarithm:
      return function_of(std::log(x[0].value), 1 / (x[0].value - x[0].error), x[0]);
    case Kind::sine: return function_of(std::sin(x[0].value), 1, x[0]);
    case Kind::cosine: return function_of(std::cos(x[0].value), 1, x[0]);
    case Kind::hyperbolic_tangent: return function_of(std::tanh(x[0].value), 1, x[0]);
    case Kind::error_function: return function_of(std::erf(x[0].value), 1.13L, x[0]);
    case Kind::power: return power_of(x[0], x[1]);
    case Kind::maximum: return largest_of(x);
  }
  return {};
}

/// The sample with all numbers that somebody may choose made `scale` times as large.
std::unique_ptr<Work> scaled(const Sample& made, double scale) {
  std::vector<Tensor> inputs = made.work->inputs();
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (made.is_exact[k]) continue;
    for (double& value : inputs[k].values.mutable_span()) {
      if (std::isfinite(value)) value *= scale;
    }
  }
  const auto& all = made.work->call().options->all();
  return std::make_unique<Work>(made.work->operation().name, std::move(inputs),
                                OptionMap(all.begin(), all.end()), *made.work->call().environment);
}

struct Tried {
  std::size_t cells = 0;
  std::string fault;
};

/// Compares every cell whose arithmetic stays within what a double can be.
void try_cells(const Work& work, double scale, Tried& tried) {
  constexpr long double slack = 2;  // the fast path may do the same in a few operations more
  const Tensor fast = work.result();
  for (std::size_t i = 0; i < fast.values.size() && tried.fault.empty(); ++i) {
    const Bounded expected =
        evaluated(work.operation().cell.expression(cell_of<Expression>(work.call(), fast, i)));
    if (expected.beyond || std::isnan(expected.value)) continue;
    ++tried.cells;
    const long double got = fast.values[i];
    if (got == expected.value || std::abs(got - expected.value) <= slack * expected.error) continue;
    tried.fault = fmt::format(
        "{} at {}: cell {} is {}, the reference {} ± {}", work.operation().name, scale, i,
        fast.values[i], static_cast<double>(expected.value), static_cast<double>(expected.error));
  }
}

/// What softmax and its kin have to stand: one line of scores.
std::vector<double> line_of_scores(std::size_t width, double size, Dice& dice) {
  std::vector<double> line(width);
  for (double& score : line) score = size * dice.uniform();
  for (double& score : line) {
    if (dice.chance(10)) score = -infinity;
  }
  return line;
}

constexpr double sizes[] = {5e-324, 1e-310, 1e-300, 1e-16, 1.0, 700.0, 1e5, 1e300, largest};

}  // namespace

TEST_CASE("every operation agrees with a longer arithmetic, at every size of its numbers") {
  for (const Operation* operation : catalogue()) {
    if (!operation->cell.expression || operation->name == "tokenise") continue;
    Dice dice(11);
    Tried tried;
    for (int trial = 0; trial < 40; ++trial) {
      const Sample made = sample(*operation, Extent::any, dice);
      for (const double scale : {1.0, 0x1p-1060, 0x1p-600, 0x1p-40, 0x1p40, 0x1p400, 0x1p1020}) {
        if (tried.fault.empty()) try_cells(*scaled(made, scale), scale, tried);
      }
    }
    INFO(operation->name);
    CHECK(tried.fault == "");
    CHECK(tried.cells >= 500);
  }
}

TEST_CASE("a row of weights sums to 1 within a unit in the last place for each weight") {
  Dice dice(12);
  for (const double size : sizes) {
    for (const std::size_t width : {1, 2, 7, 64, 1000}) {
      const std::vector<double> line = line_of_scores(width, size, dice);
      const bool hidden = *std::max_element(line.begin(), line.end()) == -infinity;
      long double sum = 0;
      const Tensor weights = apply("softmax", {tensor_of({1, width}, line)});
      for (const double weight : weights.values) {
        CHECK((weight >= 0 && weight <= 1));  // so it is no NaN
        sum += weight;
      }
      INFO(size << " " << width);
      CHECK(std::abs(static_cast<double>(sum - (hidden ? 0 : 1))) <=
            static_cast<double>(width) * 0x1p-52);
    }
  }
}

TEST_CASE("softmax neither overflows nor loses a row at the ends of what a double can be") {
  const auto weights = [](std::vector<double> scores) {
    const std::size_t width = scores.size();
    return apply("softmax", {tensor_of({1, width}, std::move(scores))}).values;
  };
  using Values = std::vector<double>;
  CHECK(weights({largest, largest}) == Values{0.5, 0.5});
  CHECK(weights({largest, -largest}) == Values{1, 0});
  CHECK(weights({-largest, -largest, -infinity}) == Values{0.5, 0.5, 0});
  CHECK(weights({5e-324, 0, -5e-324, -0.0}) == Values{0.25, 0.25, 0.25, 0.25});
  CHECK(weights({infinity, 1, largest}) == Values{1, 0, 0});
  CHECK(weights({infinity, infinity, -infinity}) == Values{0.5, 0.5, 0});
  CHECK(weights({-infinity, -infinity}) == Values{0, 0});
  CHECK(weights({-745, 0}) == Values{5e-324, 1});  // e^-745, rounded: the smallest double
  CHECK(weights({-746, 0}) == Values{0, 1});
}

TEST_CASE("a weight rises with its own score and falls with every other") {
  Dice dice(13);
  for (const double size : {1e-3, 1.0, 20.0}) {
    std::vector<double> scores(6);
    for (double& score : scores) score = size * dice.uniform();
    std::vector<double> higher = scores;
    higher[2] += size / 4;
    const Tensor before = apply("softmax", {tensor_of({1, 6}, scores)});
    const Tensor after = apply("softmax", {tensor_of({1, 6}, higher)});
    for (std::size_t j = 0; j < 6; ++j) {
      CHECK((after.values[j] > before.values[j]) == (j == 2));
    }
  }
}

}  // namespace ops_numbers_tests
