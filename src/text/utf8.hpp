#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace qkv {

/// Whether a byte of UTF-8 goes on with a character, and begins none.
constexpr bool is_inside_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

/// How many bytes the UTF-8 character at the start of `text` has; 0 where there is none.
std::size_t utf8_length(std::string_view text);

/// How many characters UTF-8 has.
constexpr std::size_t characters_in(std::string_view text) {
  std::size_t characters = 0;
  for (const char c : text) characters += is_inside_character(c) ? 0 : 1;
  return characters;
}

/// Where the last character of a text begins; 0 where it has none.
constexpr std::size_t last_character(std::string_view text) {
  std::size_t at = text.size();
  while (at > 0 && is_inside_character(text[--at])) {
  }
  return at;
}

/// A message quotes what it speaks of, which may have megabytes: of so long a line the two ends,
/// which say what and why, with `…` between them.
std::string without_middle(std::string_view line);

}  // namespace qkv
