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

}  // namespace qkv
