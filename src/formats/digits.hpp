#pragma once

#include <cstddef>

namespace qkv {

/// The room that put_shortest wants. It writes at most 24 characters, -2.2250738585072014e-308, but
/// copies digits in blocks of a fixed size, and so also writes behind what it returns as the end.
inline constexpr std::size_t room_for_shortest = 48;

/// Writes the shortest digits that read back to the same double, as fmt's "{}" writes them, and
/// returns where they end. Infinity is inf, NaN nan. Example: 0.1 is "0.1", 3 is "3".
char* put_shortest(char* out, double value);

/// The most characters that put_fixed writes with so many decimals: a sign and the 309 digits of
/// the largest double, a point, the decimals.
constexpr std::size_t longest_fixed(int digits) { return 311 + static_cast<std::size_t>(digits); }

/// Writes so many decimals and returns where they end; what rounds to zero has no sign.
char* put_fixed(char* out, double value, int digits);

}  // namespace qkv
