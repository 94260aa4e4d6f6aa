#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace qkv {

/// How many columns a terminal gives to visible text, counted by grapheme cluster: "é" is 1 however
/// it is encoded, "猫" is 2, and so are "👩‍👩‍👧", "🇩🇪" and "❤️".
std::size_t width(std::string_view text);

/// Visible text filled with blanks to `columns`, the text on the left, on the right or in the
/// middle; text that is wider already stays as it is.
std::string padded_left(std::string_view text, std::size_t columns);    ///< blanks on its left
std::string padded_right(std::string_view text, std::size_t columns);   ///< blanks on its right
std::string padded_centre(std::string_view text, std::size_t columns);  ///< blanks on both sides

/// Visible text cut between two grapheme clusters to at most `columns`, its end replaced by `…`.
std::string shortened(std::string_view text, std::size_t columns);

}  // namespace qkv
