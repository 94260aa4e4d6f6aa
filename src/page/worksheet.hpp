#pragma once

#include <string>

#include "lesson/lesson.hpp"
#include "trace/trace.hpp"

namespace qkv::inline page {

/// Matrices with more cells (all heads together) go to CSV files instead, and the page says so.
inline constexpr std::size_t max_printed_cells = 4096;

/// Returns a worksheet as one HTML page for A4 or Letter paper, in black and white. After the text
/// come the steps: number, name, title, explanation, formula with shapes, one cell in names, the
/// new givens (`digits` decimals), and an empty labelled grid. Nothing is fetched or run. `check`
/// is the command that checks the result.
std::string worksheet_page(const Lesson& lesson, const Trace& trace, int digits,
                           const std::string& check);

}  // namespace qkv::inline page
