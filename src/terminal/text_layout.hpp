#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace qkv::inline terminal {

/// Splits a text into lines, each of which ends in a line break.
std::vector<std::string> lines_of(std::string_view text);

/// Returns the lines as text, each behind so many blanks unless it is empty.
std::string indented_lines(const std::vector<std::string>& lines, std::size_t blanks = 2);

/// Returns the display width of a line, without colour codes.
std::size_t display_width(std::string_view line);

/// Returns the largest display width of the lines.
std::size_t max_width(const std::vector<std::string>& lines);

/// Places blocks of lines side by side while they fit in `columns`, then below, after an empty
/// line. `gap` blanks separate them; no line ends in a blank.
std::vector<std::string> side_by_side(const std::vector<std::vector<std::string>>& blocks,
                                      std::size_t gap, std::size_t columns);

/// Returns the index just past the colour code that starts at `at`.
std::size_t end_of_escape(std::string_view line, std::size_t at);

/// Wraps a line of arithmetic at its operators to `columns`; cell names stay whole.
std::vector<std::string> wrapped_arithmetic(std::string_view line, std::size_t columns);

}  // namespace qkv::inline terminal
