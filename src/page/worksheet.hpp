#pragma once

#include <string>

#include "lesson/lesson.hpp"
#include "trace/trace.hpp"

namespace qkv::inline page {

/// A matrix of more cells than this (all heads together) is left to its CSV files: the page says
/// so.
inline constexpr std::size_t max_printed_cells = 4096;

/// One page of HTML to print and fill in by hand, on A4 or Letter paper, in black and white: the
/// text, then for each step its number, name, title, what it does, the formula with shapes, one
/// cell of it in names, the givens that it is the first to use (`digits` decimals), and an empty
/// grid with labels. Nothing in it is fetched or run. `check` is the command that checks the
/// result.
std::string worksheet_page(const Lesson& lesson, const Trace& trace, int digits,
                           const std::string& check);

}  // namespace qkv::inline page
