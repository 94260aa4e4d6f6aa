#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "formats/io.hpp"
#include "formats/parsed_array.hpp"

namespace qkv::inline formats {

/// Reads a matrix as NumPy, PyTorch, Python, MATLAB or Octave print it, or bare rows or CSV;
/// brackets nest to any rank. `expected` (rows, columns) matters to CSV only: see read_csv. Throws
/// InputError (prefix `where`) with the line, also for output shortened with "...". Example:
/// `read_printed_text("tensor([[1., 2.]])", "X")` → shape {1, 2}.
ParsedArray read_printed_text(std::string_view text, const std::string& where,
                              const ReadOptions& wanted = {});

/// True if a text has a line of a tensor as llama-eval-callback prints it.
bool is_eval_callback(std::string_view text);

/// Reads what llama-eval-callback prints of a graph's tensors: the first and the last 3 numbers of
/// each axis, and their sum. Views are left out; of several tensors of a name the last is kept, and
/// the one before a rotation as "NAME before ROPE". Throws InputError, with the line, if a tensor
/// is cut off or its numbers do not fit its shape or its sum.
std::vector<NamedArray> read_eval_callback(std::string_view text, const std::string& where);

}  // namespace qkv::inline formats
