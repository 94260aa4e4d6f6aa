#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace qkv::inline ops {

/// All numbers from `low` to `high`: the possible values of a cell whose inputs are known to within
/// a unit of their last digit.
struct Interval {
  double low = 0;
  double high = 0;

  constexpr Interval() = default;
  constexpr Interval(double exact) : low(exact), high(exact) {}  // NOLINT: a number is an interval
  constexpr Interval(double from, double to) : low(from), high(to) {}
};

inline constexpr Interval everything{-std::numeric_limits<double>::infinity(),
                                     std::numeric_limits<double>::infinity()};

inline Interval operator+(Interval a, Interval b) { return {a.low + b.low, a.high + b.high}; }
inline Interval operator-(Interval a, Interval b) { return {a.low - b.high, a.high - b.low}; }

/// Here 0 · ∞ is 0: an exact zero removes its other factor.
inline Interval operator*(Interval a, Interval b) {
  const auto times = [](double x, double y) { return x == 0 || y == 0 ? 0 : x * y; };
  const auto [low, high] = std::minmax(
      {times(a.low, b.low), times(a.low, b.high), times(a.high, b.low), times(a.high, b.high)});
  return {low, high};
}

/// Returns `everything` if the divisor contains 0.
inline Interval operator/(Interval a, Interval b) {
  if (b.low <= 0 && b.high >= 0) return everything;
  const auto [low, high] =
      std::minmax({a.low / b.low, a.low / b.high, a.high / b.low, a.high / b.high});
  return {low, high};
}

/// Returns x · x, which is never below 0 because both factors are one number.
inline Interval square(Interval x) {
  const auto [low, high] = std::minmax({x.low * x.low, x.high * x.high});
  return {x.low < 0 && x.high > 0 ? 0 : low, high};
}

inline Interval exp(Interval x) { return {std::exp(x.low), std::exp(x.high)}; }
/// Numbers not above 0 have no logarithm: there the range begins at minus infinity.
inline Interval log(Interval x) {
  constexpr double bottom = -std::numeric_limits<double>::infinity();
  return {x.low > 0 ? std::log(x.low) : bottom, x.high > 0 ? std::log(x.high) : bottom};
}
inline Interval tanh(Interval x) { return {std::tanh(x.low), std::tanh(x.high)}; }
inline Interval sqrt(Interval x) { return {std::sqrt(std::max(0.0, x.low)), std::sqrt(x.high)}; }

inline Interval hull(Interval a, Interval b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

}  // namespace qkv::inline ops
