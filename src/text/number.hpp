#pragma once

#include "text/prelude.hpp"

#include <charconv>

namespace qkv::inline text {

/// Returns a number with `digits` decimals. A final 5 is rounded away from zero, as people do it; a
/// number that rounds to zero has no sign. Infinities are "inf" and "-inf", NaN is "nan".
/// Examples: `number(-1e-9, 4)` is "0.0000", `number(0.03125, 4)` is "0.0313".
std::string number(double value, int digits);

/// Returns a number for prose, at most `digits` decimals without trailing zeros: "0.148" or "2".
/// Whole numbers from 1e5 to 2^53, the last exact one, have grouped digits: "57,982,058,496".
/// Others from 1e7 on have an exponent, as have numbers that would show as zeros: "3.29e-06".
std::string brief(double value, int digits);

/// How all numbers of one matrix are written, so that its cells can be compared by eye.
struct NumberStyle {
  enum class Kind {
    whole,       ///< no decimals: all are integers
    grouped,     ///< the same with grouped digits, if one is long
    fixed,       ///< `digits` decimals, or fewer if that is exact
    scientific,  ///< `digits` decimals and an exponent
  };
  Kind kind = Kind::fixed;
  int digits = 4;

  bool operator==(const NumberStyle&) const = default;
};

/// Returns the style of a matrix. Integers stay integers up to 2^53, with grouped digits from 1e5
/// on. Other matrices have exponents if the largest magnitude is 1e7 or more, or too small for
/// `digits` decimals. Ignores infinities and NaN.
NumberStyle style_for(std::span<const double> values, int digits);
/// The same if the largest magnitude is known.
NumberStyle style_for(std::span<const double> values, int digits, double largest);

/// Returns the text of one cell. Zero is "0" in every style; "0.0000" is a small number, rounded.
std::string cell_text(double value, const NumberStyle& style);

/// Returns in words what the first negative exponent in a text means; empty if there is none.
/// Example: `(2.26e-06 means 0.00000226.)`
std::string exponent_legend(std::string_view text);

/// The largest number of characters that write_shortest writes: -2.2250738585072014e-308.
inline constexpr std::size_t max_shortest_length = 24;

/// Writes the shortest digits that parse back to the same double, as fmt's "{}" does, and returns
/// their end. Examples: 0.1 is "0.1", 3 is "3", infinity is "inf", NaN is "nan".
char* write_shortest(char* out, double value);

/// The largest number of characters that write_fixed writes: a sign, the 309 digits of the largest
/// double, a point, the decimals.
constexpr std::size_t max_fixed_length(int digits) {
  return 311 + static_cast<std::size_t>(digits);
}

/// Writes `digits` decimals and returns their end. A number that rounds to zero has no sign.
char* write_fixed(char* out, double value, int digits);

/// Parses a whole text as a number: "12" or "1e-5", without blanks or a plus. Returns nothing for
/// any other text, and for a number outside the range of `Number`.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  if (error != std::errc() || end != last) return {};
  return number;
}

/// Returns the decimal place of the first digit: 1 of 12.3, -2 of 0.05; 0 of 0 and of what is not
/// finite.
int leading_place(double value);

/// Returns a count with grouped digits: group_digits(57982058496) is "57,982,058,496".
std::string group_digits(std::uint64_t count);

}  // namespace qkv::inline text
