#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "ops/cell.hpp"

namespace qkv {

/// The larger of two numbers; what is no number makes none.
inline double larger(double a, double b) { return a >= b || std::isnan(a) ? a : b; }
inline Interval larger(Interval a, Interval b) {
  return {larger(a.low, b.low), larger(a.high, b.high)};
}
/// What is not known may be the largest.
inline Decimal larger(const Decimal& a, const Decimal& b) {
  if (!a.is_exact() || !b.is_exact()) return Decimal::unknown();
  return a.value() >= b.value() ? a : b;
}

/// The largest of term(0), term(1), …, of which there must be one.
template <class N, class Term>
N largest_of(std::size_t count, Term term) {
  if constexpr (std::is_same_v<N, Expression>) {
    std::vector<Expression> terms;
    for (std::size_t t = 0; t < count; ++t) terms.push_back(term(t));
    if (terms.size() == 1) return terms.front();
    return Expression::of(Expression::Kind::maximum, std::move(terms));
  } else {
    N top = term(0);
    for (std::size_t t = 1; t < count; ++t) top = larger(top, term(t));
    return top;
  }
}

}  // namespace qkv
