#pragma once

#include <cmath>

#include "ops/numbers/decimal.hpp"
#include "ops/numbers/expression.hpp"
#include "ops/numbers/interval.hpp"

namespace qkv {

inline double opposite(double x) { return -x; }
inline Expression opposite(const Expression& x) {
  return Expression::of(Expression::Kind::negative, {x});
}
inline Decimal opposite(Decimal x) { return Decimal(0.0) - x; }

/// 1 / (1 + e^(−x)), a share between 0 and 1.
template <class N>
N sigmoid(const N& x) {
  using std::exp;
  return N(1.0) / (N(1.0) + exp(opposite(x)));
}

/// It rises with x.
inline Interval sigmoid(Interval x) { return {sigmoid(x.low), sigmoid(x.high)}; }

}  // namespace qkv
