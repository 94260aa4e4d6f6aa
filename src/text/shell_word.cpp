#include "text/shell_word.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace qkv {
namespace {

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

// bash, zsh and ksh know $'…', and in it a line break can stand on the line.
std::string escaped(std::string_view word) {
  std::string text = "$'";
  for (const char c : word) {
    if (is_control(c)) {
      text += c == '\n' ? "\\n" : fmt::format("\\{:03o}", static_cast<unsigned>(c));
    } else {
      if (c == '\'' || c == '\\') text += '\\';
      text += c;
    }
  }
  return text + "'";
}

}  // namespace

std::string shell_word(const std::string& word) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
  if (std::ranges::any_of(word, is_control)) return escaped(word);
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace qkv
