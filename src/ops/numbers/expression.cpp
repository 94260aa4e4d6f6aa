#include "ops/numbers/expression.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace qkv::inline ops {

double Expression::evaluate(Kind kind, std::span<const double> x) {
  switch (kind) {
    case Kind::sum: return std::accumulate(x.begin(), x.end(), 0.0);
    case Kind::difference: return x[0] - x[1];
    case Kind::product: return x[0] * x[1];
    case Kind::quotient: return x[0] / x[1];
    case Kind::negative: return -x[0];
    case Kind::root: return std::sqrt(x[0]);
    case Kind::exponential: return std::exp(x[0]);
    case Kind::logarithm: return std::log(x[0]);
    case Kind::sine: return std::sin(x[0]);
    case Kind::cosine: return std::cos(x[0]);
    case Kind::hyperbolic_tangent: return std::tanh(x[0]);
    case Kind::error_function: return std::erf(x[0]);
    case Kind::power: return std::pow(x[0], x[1]);
    case Kind::maximum: {
      double top = x[0];
      for (const double part : x) top = std::max(top, part);
      return top;
    }
    case Kind::number:
    case Kind::cell: break;
  }
  throw std::logic_error("a number or a cell has no parts to work out");
}

Expression::Expression(double number)
    : node_(std::make_shared<const Node>(Node{.kind = Kind::number, .value = number})) {}

Expression Expression::of_cell(CellPlace place, double value) {
  return Expression(
      std::make_shared<const Node>(Node{.kind = Kind::cell, .value = value, .place = place}));
}

Expression Expression::of(Kind kind, std::vector<Expression> parts) {
  std::vector<double> values;
  std::size_t strides = 0;
  for (const Expression& part : parts) {
    values.push_back(part.value());
    strides = std::max(strides, part.strides() + 1);
  }
  const double value = evaluate(kind, values);
  return Expression(std::make_shared<const Node>(
      Node{.kind = kind, .value = value, .parts = std::move(parts), .strides = strides}));
}

}  // namespace qkv::inline ops
