#include "text/lowercase.hpp"

#include <algorithm>

#include "text/unicode.hpp"

namespace qkv {

std::string ascii_lowercase(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) { return ascii_lowercase(c); });
  return text;
}

std::string lowercase(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const auto [code, bytes] = decoded(text, at);
    if (code == bad_byte) {
      result += text[at];
    } else {
      append_code(result, utf8proc_tolower(code));
    }
    at += bytes;
  }
  return result;
}

}  // namespace qkv
