#include "ops/expression.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace qkv {

struct Expression::Node {
  Kind kind = Kind::number;
  double value = 0;
  CellPlace place = {};
  std::vector<Expression> parts = {};
};

namespace {

using Kind = Expression::Kind;

double sum_of(const std::vector<Expression>& parts) {
  double sum = 0;
  for (const Expression& part : parts) sum += part.value();
  return sum;
}

double largest_of(const std::vector<Expression>& parts) {
  double top = parts.front().value();
  for (const Expression& part : parts) top = std::max(top, part.value());
  return top;
}

double value_of(Kind kind, const std::vector<Expression>& parts) {
  const auto x = [&](std::size_t i) { return parts[i].value(); };
  switch (kind) {
    case Kind::sum: return sum_of(parts);
    case Kind::difference: return x(0) - x(1);
    case Kind::product: return x(0) * x(1);
    case Kind::quotient: return x(0) / x(1);
    case Kind::negative: return -x(0);
    case Kind::root: return std::sqrt(x(0));
    case Kind::exponential: return std::exp(x(0));
    case Kind::sine: return std::sin(x(0));
    case Kind::cosine: return std::cos(x(0));
    case Kind::hyperbolic_tangent: return std::tanh(x(0));
    case Kind::error_function: return std::erf(x(0));
    case Kind::power: return std::pow(x(0), x(1));
    case Kind::maximum: return largest_of(parts);
    case Kind::number:
    case Kind::cell: break;
  }
  throw std::logic_error("a number or a cell has no parts to work out");
}

}  // namespace

Expression::Expression(double number)
    : node_(std::make_shared<const Node>(Node{.kind = Kind::number, .value = number})) {}

Expression Expression::of_cell(CellPlace place, double value) {
  return Expression(
      std::make_shared<const Node>(Node{.kind = Kind::cell, .value = value, .place = place}));
}

Expression Expression::of(Kind kind, std::vector<Expression> parts) {
  const double value = value_of(kind, parts);
  return Expression(
      std::make_shared<const Node>(Node{.kind = kind, .value = value, .parts = std::move(parts)}));
}

Expression::Kind Expression::kind() const { return node_->kind; }
double Expression::value() const { return node_->value; }
const CellPlace& Expression::place() const { return node_->place; }
const std::vector<Expression>& Expression::parts() const { return node_->parts; }

}  // namespace qkv
