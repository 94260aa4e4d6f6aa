#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "formats/parsed_array.hpp"

namespace qkv::inline formats {

/// The separator between a number's integer part and its decimals.
enum class DecimalMark { point, comma };

enum class NumeralError { none, not_a_number, too_large, rounded };

/// A parsed number, or why `token` is not one.
struct NumeralResult {
  Numeral numeral = {};
  NumeralError fault = NumeralError::none;
};

/// Parses the whole of `token`: digits with at most one decimal mark and one exponent, or inf,
/// infinity, ∞ or nan in any case. The sign is +, - or U+2212. "1x", "1,000.5" and "0x1" are not
/// numbers; what is too small for a double becomes 0. Integers without point and exponent that no
/// double holds are refused, not rounded: 9007199254740993. Example: "1.20e-3" → {0.0012, 5, true}.
NumeralResult parse_numeral(std::string_view token, DecimalMark mark = DecimalMark::point);

/// True if a double holds the integer in `digits`, whose nearest double is `value`. It equals
/// `value`, or has its first digits and then zeros, as programs abbreviate a double.
bool is_representable(std::string_view digits, double value);

/// True if no double holds the 64-bit integer.
template <class Whole>
bool loses_precision(Whole value) {
  const auto closest = static_cast<double>(value);
  const double too_large = std::ldexp(1.0, std::numeric_limits<Whole>::digits);
  return closest >= too_large || static_cast<Whole>(closest) != value;
}

/// The error message for `token`: `"1x" is not a number: write it like 0.25 or 2.5e-3`.
std::string refusal(NumeralError fault, std::string_view token);

/// Throws the InputError that the file at `where` has more numbers than the `most` that are read.
[[noreturn]] void refuse_surplus(const std::string& where, std::size_t most);

/// Makes `text` fit one line of a message: control characters and invalid UTF-8 become ?, and text
/// beyond 40 bytes becomes an ellipsis.
std::string printable(std::string_view text);

/// Parses a handwritten cell: a numeral, a fraction (1/3), a root (√2, 2√3, 3/√2, √2/2) or a
/// percentage (80%, with two decimals more than written). Fractions and roots are exact and get
/// their decimals later, from resolve_precision.
NumeralResult parse_cell(std::string_view text, DecimalMark mark = DecimalMark::point);

/// The decimal mark of a cell that has no other comma.
DecimalMark decimal_mark_of(std::string_view cell);

/// Gives fractions and roots the precision of the matrix's other numbers, or e-notation with six
/// digits if those have no decimals.
void resolve_precision(std::span<Numeral> cells);

/// What to do with a cell that is not a number: refuse the file, or keep the cell's text.
enum class OnBadCell { refused, kept };

/// Stores the text of a cell that is not a number and returns its placeholder. Throws InputError
/// above the limit of such cells.
Numeral keep_bad_cell(ParsedArray& written, std::string_view text);

}  // namespace qkv::inline formats
