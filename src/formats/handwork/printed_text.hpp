#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "formats/io.hpp"
#include "formats/parsed_array.hpp"

namespace qkv::inline formats {

/// The matrix in a text as NumPy, PyTorch, Python, MATLAB or Octave print it, or as bare rows or
/// CSV; brackets nest to any rank, and `where` opens every message. `expected` (rows, columns)
/// matters to CSV only: see read_csv. Throws InputError with the line, also for a print that was
/// cut short with "...". Example: `read_printed_text("tensor([[1., 2.]])", "X")` → shape {1, 2}.
ParsedArray read_printed_text(std::string_view text, const std::string& where,
                              std::optional<std::array<std::size_t, 2>> expected = {});

/// The same for one who knows more of what the text should be: see read_csv_with.
ParsedArray read_printed_text_with(std::string_view text, const std::string& where,
                                   const ReadOptions& wanted);

}  // namespace qkv::inline formats
