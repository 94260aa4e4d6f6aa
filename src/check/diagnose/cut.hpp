#pragma once

#include <array>
#include <cmath>

namespace qkv {

constexpr double largest_written = 1e12;  ///< longer numbers are not written digit by digit

/// How a learner writes a number down: to so many decimals, rounded or the rest left away. Numbers
/// that are too long for decimals stay as they are.
struct Cut {
  int decimals = 0;
  double (*habit)(double) = std::round;
  double power = std::pow(10.0, decimals);

  double operator()(double x) const {
    return std::abs(x) < largest_written ? habit(x * power) / power : x;
  }
};

/// The ways to write so many decimals.
inline std::array<Cut, 2> cuts_to(int decimals) {
  return {{{decimals, std::round}, {decimals, std::trunc}}};
}

}  // namespace qkv
