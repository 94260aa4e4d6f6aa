#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "formats/parsed_array.hpp"

namespace qkv::inline formats {

/// What stands between the whole part of a number and its decimals.
enum class DecimalMark { point, comma };

enum class NumeralError { none, not_a_number, too_large, rounded };

/// A number, or the reason why there is none.
struct NumeralResult {
  Numeral numeral = {};
  NumeralError fault = NumeralError::none;
};

/// The number that the whole of `token` spells: digits with at most one mark and one exponent, or
/// inf, infinity, ∞ or nan in any case; the sign is +, - or U+2212. "1x", "1,000.5" and "0x1" are
/// none; what is too small for a double becomes 0. A whole number without a point and an exponent
/// that no double holds is refused, and not rounded: 9007199254740993. Example: "1.20e-3" →
/// {0.0012, 5, true}.
NumeralResult parse_numeral(std::string_view token, DecimalMark mark = DecimalMark::point);

/// Whether a double holds a whole number in digits whose nearest double is `value`: it is that
/// number or, as programs write a double in short, has its first digits and zeros behind them.
bool is_representable(std::string_view digits, double value);

/// Whether a whole number of 64 bits is none that a double holds.
template <class Whole>
bool loses_precision(Whole value) {
  const auto closest = static_cast<double>(value);
  const double too_large = std::ldexp(1.0, std::numeric_limits<Whole>::digits);
  return closest >= too_large || static_cast<Whole>(closest) != value;
}

/// What to tell the writer of `token`: `"1x" is not a number: write it like 0.25 or 2.5e-3`.
std::string refusal(NumeralError fault, std::string_view token);

/// `text` fit for one line of a message: control characters and broken UTF-8 become ?, and what is
/// longer than 40 bytes ends in an ellipsis.
std::string printable(std::string_view text);

/// The number that a person may write in a cell: what parse_numeral reads, or exactly a fraction
/// (1/3), a root (√2, 2√3, 3/√2, √2/2) or a percentage (80%, which has its own decimals and two).
/// Fractions and roots have no decimals of their own yet: resolve_precision gives them some.
NumeralResult parse_cell(std::string_view text, DecimalMark mark = DecimalMark::point);

/// The mark that a cell in which no comma parts anything is written with.
DecimalMark decimal_mark_of(std::string_view cell);

/// Makes fractions and roots as precise as the other numbers of their matrix, or as e-notation of
/// six digits where those have no decimals.
void resolve_precision(std::span<Numeral> cells);

/// What a reader does with a cell that is no number: it refuses the file, or keeps the cell's text.
enum class OnBadCell { refused, kept };

/// Puts a cell that is no number in its place; throws InputError, which opens with `where`, where
/// there are more of them than anybody would look at.
Numeral keep_bad_cell(ParsedArray& written, std::string_view text);

}  // namespace qkv::inline formats
