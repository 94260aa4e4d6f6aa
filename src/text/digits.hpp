#pragma once

#include <cstddef>

namespace qkv {

/// The most characters that put_shortest writes: -2.2250738585072014e-308.
inline constexpr std::size_t longest_shortest = 24;

/// Writes the shortest digits that read back to the same double, as fmt's "{}" writes them, and
/// returns where they end. Infinity is inf, NaN nan. Example: 0.1 is "0.1", 3 is "3".
char* put_shortest(char* out, double value);

/// The most characters that put_fixed writes with so many decimals: a sign and the 309 digits of
/// the largest double, a point, the decimals.
constexpr std::size_t longest_fixed(int digits) { return 311 + static_cast<std::size_t>(digits); }

/// Writes so many decimals and returns where they end; what rounds to zero has no sign.
char* put_fixed(char* out, double value, int digits);

}  // namespace qkv
