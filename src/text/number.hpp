#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace qkv::inline text {

/// A number with `digits` decimals, a final 5 rounded away from zero as people do it. Never
/// "-0.0000": what rounds to zero has no sign. Infinities are "inf" and "-inf", what is no number
/// is "nan". Examples: `number(-1e-9, 4)` is "0.0000", `number(0.03125, 4)` is "0.0313".
std::string number(double value, int digits);

/// A number for prose: as many of the `digits` decimals as say something, "0.148" or "2". From 1e5
/// on a whole number has its thousands apart, "57,982,058,496", up to 2^53, where doubles stop
/// telling whole numbers apart; others have an exponent from 1e7 on, and so has what the decimals
/// would show as zeros: "3.29e-06".
std::string brief(double value, int digits);

/// How every number of one matrix is written, so that its cells can be compared by eye.
struct NumberStyle {
  enum class Kind {
    whole,       ///< no decimals: all are whole numbers
    grouped,     ///< the same with thousands apart, where one of them is long
    fixed,       ///< `digits` decimals, or fewer where all end sooner
    scientific,  ///< `digits` decimals and an exponent
  };
  Kind kind = Kind::fixed;
  int digits = 4;

  bool operator==(const NumberStyle&) const = default;
};

/// The style of a matrix. Whole numbers stay whole up to 2^53, with thousands apart from 1e5 on;
/// otherwise a largest magnitude of 1e7 or more, or one too small to show in `digits` decimals,
/// takes exponents. Infinities and NaN have no say.
NumberStyle style_for(std::span<const double> values, int digits);
/// The same where their largest magnitude is known already.
NumberStyle style_for(std::span<const double> values, int digits, double largest);

/// One cell of a matrix. A zero is "0" in every style, so that it differs from "0.0000", which is a
/// small number rounded.
std::string cell_text(double value, const NumberStyle& style);

/// What the first number with a negative exponent in a text means, in words:
/// `(2.26e-06: the point belongs 6 places further to the left, 0.00000226.)`; empty where there is
/// none.
std::string exponent_legend(std::string_view text);

/// The most characters that write_shortest writes: -2.2250738585072014e-308.
inline constexpr std::size_t max_shortest_length = 24;

/// Writes the shortest digits that read back to the same double, as fmt's "{}" writes them, and
/// returns where they end. Infinity is inf, NaN nan. Example: 0.1 is "0.1", 3 is "3".
char* write_shortest(char* out, double value);

/// The most characters that write_fixed writes with so many decimals: a sign and the 309 digits of
/// the largest double, a point, the decimals.
constexpr std::size_t max_fixed_length(int digits) {
  return 311 + static_cast<std::size_t>(digits);
}

/// Writes so many decimals and returns where they end; what rounds to zero has no sign.
char* write_fixed(char* out, double value, int digits);

/// The number that the whole text is, as a program writes it: "12" or "1e-5", without blanks or a
/// plus. Nothing where it is something else, or has no place in `Number`.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  if (error != std::errc() || end != last) return {};
  return number;
}

/// A count with its thousands apart: group_digits(57982058496) is "57,982,058,496".
std::string group_digits(std::uint64_t count);

}  // namespace qkv::inline text
