#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "formats/parsed_array.hpp"

namespace qkv::pasted {

inline constexpr auto npos = std::string_view::npos;
inline constexpr std::string_view white = " \t\r\n";
inline constexpr std::string_view fit_example = "paste numbers, such as [[1, 2], [3, 4]]";

bool is_digit(char c);

/// Letters of any alphabet: whatever is not ASCII counts as one.
bool is_letter(char c);

/// A pasted text with its name, so that a place in it can be turned into a line.
struct Source {
  std::string_view text;
  const std::string& where;
  Written* unread = nullptr;  ///< keeps the texts of cells that are no numbers, where they are kept

  [[noreturn]] void refuse(std::size_t pos, std::string_view why) const;
};

/// A piece of the text by its place.
struct Piece {
  std::size_t start = 0;
  std::size_t end = 0;
};

/// A number or a truth value, or what is kept of a cell that is neither; a place of the source is
/// for the message.
Numeral read_number(std::string_view token, const Source& source, std::size_t pos);

}  // namespace qkv::pasted
