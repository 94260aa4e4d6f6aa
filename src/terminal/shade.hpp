#pragma once

#include <string>
#include <string_view>

namespace qkv {

namespace sgr {
inline constexpr std::string_view reset = "\x1b[0m";
inline constexpr std::string_view bold = "\x1b[1m";
inline constexpr std::string_view dim = "\x1b[2m";
inline constexpr std::string_view reversed = "\x1b[7m";
}  // namespace sgr

/// What the shades of one matrix stand for.
struct ShadeScale {
  double largest = 0;  ///< magnitude of a finite number
  bool has_negative = false;
};

/// Text on the shade of a number: white to blue from zero to the largest; where there are negative
/// numbers, blue is below and brown above zero. What is infinite is dim.
std::string shaded(std::string_view text, double value, const ShadeScale& scale);

}  // namespace qkv
