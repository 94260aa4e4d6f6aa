#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace qkv::inline ops {

/// All numbers from `low` to `high`: what a cell can be when each of its inputs is only known to
/// within a unit of its last digit.
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

/// In an interval nothing times infinity is nothing: an exact zero removes what it multiplies.
inline Interval operator*(Interval a, Interval b) {
  const auto times = [](double x, double y) { return x == 0 || y == 0 ? 0 : x * y; };
  const auto [low, high] = std::minmax(
      {times(a.low, b.low), times(a.low, b.high), times(a.high, b.low), times(a.high, b.high)});
  return {low, high};
}

/// Dividing by an interval that holds zero can give anything.
inline Interval operator/(Interval a, Interval b) {
  if (b.low <= 0 && b.high >= 0) return everything;
  const auto [low, high] =
      std::minmax({a.low / b.low, a.low / b.high, a.high / b.low, a.high / b.high});
  return {low, high};
}

/// x · x, which is never below 0: its two factors are one number.
inline Interval square(Interval x) {
  const auto [low, high] = std::minmax({x.low * x.low, x.high * x.high});
  return {x.low < 0 && x.high > 0 ? 0 : low, high};
}

inline Interval exp(Interval x) { return {std::exp(x.low), std::exp(x.high)}; }
/// Of what is not above 0 there is no logarithm: its range begins at minus infinity.
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
