#pragma once

#include <cstddef>
#include <string>

#include "exposition/sensitivity.hpp"

namespace qkv {

/// Through which cells the loss sees what a gradient belongs to, a line or several for each step,
/// broken to `width` columns.
std::string seen_words(const SeenThrough& seen, const Trace& trace, int digits, std::size_t width);

}  // namespace qkv
