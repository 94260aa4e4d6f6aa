#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace qkv::inline terminal {

/// The lines of a text, each ended by a line break.
std::vector<std::string> lines_of(std::string_view text);

/// What a terminal gives columns to: the line without its colours.
std::string strip_colour(std::string_view line);

/// How many columns a line takes, its colours aside.
std::size_t display_width(std::string_view line);

/// The most that one of the lines takes.
std::size_t max_width(const std::vector<std::string>& lines);

/// Blocks of lines beside each other as long as there is room in `columns`, then below, after an
/// empty line; `gap` blanks between two of them. No line ends in a blank.
std::vector<std::string> side_by_side(const std::vector<std::vector<std::string>>& blocks,
                                      std::size_t gap, std::size_t columns);

/// Where the colour sequence that starts at `at` ends.
std::size_t end_of_escape(std::string_view line, std::size_t at);

/// A line of arithmetic broken at its operators to at most `columns`; names of cells stay whole.
std::vector<std::string> wrapped_arithmetic(std::string_view line, std::size_t columns);

}  // namespace qkv::inline terminal
