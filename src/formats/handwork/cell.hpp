#pragma once

#include <span>
#include <string>
#include <string_view>

#include "formats/handwork/numeral.hpp"

namespace qkv {

/// The number that a person may write in a cell: what parse_numeral reads, or exactly a fraction
/// (1/3), a root (√2, 2√3, 3/√2, √2/2) or a percentage (80%, which has its own decimals and two).
/// Fractions and roots have no decimals of their own yet: settle_exact gives them some.
NumeralResult parse_cell(std::string_view text, DecimalMark mark = DecimalMark::point);

/// The mark that a cell in which no comma parts anything is written with.
DecimalMark mark_of(std::string_view cell);

/// Makes fractions and roots as precise as the other numbers of their matrix, or as e-notation of
/// six digits where those have no decimals.
void settle_exact(std::span<Numeral> cells);

/// What a reader does with a cell that is no number: it refuses the file, or keeps the cell's text.
enum class Unreadable { refused, kept };

/// Puts a cell that is no number in its place; throws InputError, which opens with `where`, where
/// there are more of them than anybody would look at.
Numeral keep_unread(Written& written, std::string_view text);

}  // namespace qkv
