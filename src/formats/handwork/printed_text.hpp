#pragma once

#include <string>
#include <string_view>

#include "formats/io.hpp"
#include "formats/parsed_array.hpp"

namespace qkv::inline formats {

/// Reads a matrix as NumPy, PyTorch, Python, MATLAB or Octave print it, or bare rows or CSV;
/// brackets nest to any rank. `expected` (rows, columns) matters to CSV only: see read_csv. Throws
/// InputError (prefix `where`) with the line, also for output shortened with "...". Example:
/// `read_printed_text("tensor([[1., 2.]])", "X")` → shape {1, 2}.
ParsedArray read_printed_text(std::string_view text, const std::string& where,
                              const ReadOptions& wanted = {});

}  // namespace qkv::inline formats
