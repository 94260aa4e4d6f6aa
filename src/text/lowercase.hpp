#pragma once

#include <string>
#include <string_view>

namespace qkv {

/// The letter in lower case where it is one of ASCII's; anything else stays as it is.
constexpr char ascii_lowercase(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

/// The same for every byte of a text: for words of file formats and their extensions.
std::string ascii_lowercase(std::string text);

/// The text in lower case, letter by letter, in every alphabet that has it. What is no UTF-8 stays
/// as it is.
std::string lowercase(std::string_view text);

}  // namespace qkv
