#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "ops/cell.hpp"
#include "ops/numbers/decimal.hpp"
#include "ops/numbers/expression.hpp"
#include "ops/numbers/interval.hpp"

namespace qkv::inline ops {

/// Returns e^(x − top), with limits where infinities are subtracted: a hidden score adds nothing,
/// even if all are hidden, and scores of +inf share the row equally.
inline double power(double x, double top) {
  if (x == -infinity) return 0;
  return top == infinity ? (x == infinity ? 1 : 0) : std::exp(x - top);
}

inline Expression power(const Expression& x, const Expression& top) {
  if (x.value() == infinity) return 1.0;  // as above: inf − inf has no value
  if (x.value() == -infinity && top.value() == -infinity) return 0.0;
  return exp(x - top);
}

inline Decimal power(const Decimal& x, const Decimal& top) {
  return x.value() == -infinity ? Decimal(0.0) : exp(x - top);
}

inline Interval power(Interval x, Interval top) {
  return {power(x.low, top.high), power(x.high, top.low)};
}

/// Returns the larger of two numbers; NaN if either is NaN.
inline double nan_max(double a, double b) { return a >= b || std::isnan(a) ? a : b; }
inline Interval nan_max(Interval a, Interval b) {
  return {nan_max(a.low, b.low), nan_max(a.high, b.high)};
}
/// An unknown number may be the largest.
inline Decimal nan_max(const Decimal& a, const Decimal& b) {
  if (!a.is_exact() || !b.is_exact()) return Decimal::unknown();
  return a.value() >= b.value() ? a : b;
}

/// Returns the largest of term(0), term(1), …; `count` must be at least 1.
template <class N, class Term>
N nan_max_of(std::size_t count, Term term) {
  if constexpr (std::is_same_v<N, Expression>) {
    std::vector<Expression> terms;
    for (std::size_t t = 0; t < count; ++t) terms.push_back(term(t));
    if (terms.size() == 1) return terms.front();
    return Expression::of(Expression::Kind::maximum, terms);
  } else {
    N top = term(0);
    for (std::size_t t = 1; t < count; ++t) top = nan_max(top, term(t));
    return top;
  }
}

/// Returns x · x; of an interval, whose two factors are one number, never below 0.
template <class N>
N squared(const N& x) {
  return x * x;
}
inline Interval squared(Interval x) { return square(x); }

/// Returns the root that a norm divides by.
template <class N>
N root_of(const N& square) {
  return sqrt(square);
}

/// Squares too large for a double give NaN, not a norm of zeros.
template <>
inline double root_of(const double& square) {
  return std::isinf(square) ? std::nan("") : std::sqrt(square);
}

inline double opposite(double x) { return -x; }
inline Expression opposite(const Expression& x) {
  return Expression::of(Expression::Kind::negative, {x});
}
inline Decimal opposite(Decimal x) { return Decimal(0.0) - x; }

/// Returns 1 / (1 + e^(−x)), between 0 and 1.
template <class N>
N sigmoid(const N& x) {
  using std::exp;
  return N(1.0) / (N(1.0) + exp(opposite(x)));
}

/// Returns x / (1 + e^(−1.702 x)), which some take for GELU or SiLU, of a cell's number.
inline double quick_gelu(const Cell<double>& c) {
  const double x = c(0)(c.row, c.column);
  return x / (1 + std::exp(-1.702 * x));
}

/// Monotone: the ends give the range.
inline Interval sigmoid(Interval x) { return {sigmoid(x.low), sigmoid(x.high)}; }

}  // namespace qkv::inline ops
