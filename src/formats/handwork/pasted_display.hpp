#pragma once

#include <string_view>

#include "formats/handwork/pasted_source.hpp"

namespace qkv::pasted {

/// Whether a line of the text is one that bare rows of numbers do not have: "A =", "Columns 1
/// through 8".
bool has_display_lines(std::string_view text);

/// Reads what MATLAB and Octave display: rows that stand under "A =", under a common factor such as
/// "1.0e+03 *", or in blocks under "Columns 1 through 8". Throws InputError with the line.
Written read_display(const Source& source);

}  // namespace qkv::pasted
