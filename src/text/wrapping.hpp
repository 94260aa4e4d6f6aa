#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "text/passages.hpp"

namespace qkv {

/// Prose broken into safe lines of at most `columns`, passage by passage. Blank lines stay, as one
/// empty line; otherwise a line break is a blank. Chinese and Japanese break between any two
/// characters; a word longer than a line is cut. Code stays as it is, however long.
std::vector<std::string> wrapped(std::string_view prose, std::size_t columns);
std::vector<std::string> wrapped(const std::vector<Passage>& passages, std::size_t columns);

/// A blank at which no line may end: a no-break space, until the lines are laid out.
inline constexpr std::string_view no_break = "\u00a0";
/// A line that is laid out, with plain blanks for those.
std::string with_plain_blanks(std::string line);

}  // namespace qkv
