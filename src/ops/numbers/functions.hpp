#pragma once

#include <cmath>

#include "ops/cell.hpp"

namespace qkv {

/// e^(x − top), with the limits that a subtraction of infinities would lose: a hidden score adds
/// nothing, also where all are hidden, and scores of +inf share the row among themselves.
inline double power(double x, double top) {
  if (x == -infinity) return 0;
  return top == infinity ? (x == infinity ? 1 : 0) : std::exp(x - top);
}

inline Expression power(const Expression& x, const Expression& top) {
  if (x.value() == infinity) return 1.0;  // as above: infinity less infinity is no arithmetic
  if (x.value() == -infinity && top.value() == -infinity) return 0.0;
  return Expression::of(Expression::Kind::exponential, {x - top});
}

inline Decimal power(const Decimal& x, const Decimal& top) {
  return x.value() == -infinity ? Decimal(0.0) : exp(x - top);
}

inline Interval power(Interval x, Interval top) {
  return {power(x.low, top.high), power(x.high, top.low)};
}

}  // namespace qkv
