#pragma once

#include <algorithm>

#include "ops/kinds/line.hpp"

namespace qkv {

/// What comes back to one of two numbers of which the larger was taken: the whole change, nothing,
/// or, where they are equal, half.
template <class N>
N change_of_larger(const N& change, const N& own, const N& other) {
  if constexpr (std::is_same_v<N, Interval>) {
    if (own.low > other.high) return change;
    return own.high < other.low ? Interval(0.0) : hull(0.0, change);
  } else {
    const double x = number_of(own);
    const double y = number_of(other);
    if (std::isnan(x) || std::isnan(y)) return x + y;  // nothing tells which
    return x > y ? change : x < y ? N(0.0) : change / N(2.0);
  }
}

/// What comes back to number `i` of a line whose largest was taken: the change, shared where
/// several are as large.
template <class N>
N change_of_largest(const N& change, const Line<N>& line, std::size_t i) {
  if constexpr (std::is_same_v<N, Interval>) {
    Interval others{-infinity, -infinity};
    for (std::size_t j = 0; j < line.size(); ++j) {
      if (j == i) continue;
      others = {std::max(others.low, line(j).low), std::max(others.high, line(j).high)};
    }
    return change_of_larger(change, line(i), others);
  } else {
    double as_large = 1;
    const double own = number_of(line(i));
    for (std::size_t j = 0; j < line.size(); ++j) {
      if (j == i) continue;
      const double other = number_of(line(j));
      if (std::isnan(own) || std::isnan(other)) return own + other;
      if (other > own) return 0.0;
      as_large += other == own ? 1 : 0;
    }
    return as_large == 1 ? change : change / N(as_large);
  }
}

}  // namespace qkv
