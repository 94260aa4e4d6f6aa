#include "text/utf8.hpp"

namespace qkv {

std::size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (!is_inside_character(text[i])) return 0;
  }
  // Spellings longer than need be, surrogates, and what lies beyond U+10FFFF.
  const auto second = static_cast<unsigned char>(text[1]);
  if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f)) return 0;
  if ((first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f)) return 0;
  return length;
}

std::string without_middle(std::string_view line) {
  constexpr std::size_t longest = 1200;
  if (line.size() <= longest) return std::string(line);
  std::size_t head = longest / 2;
  std::size_t tail = line.size() - longest / 2;
  while (head > 0 && is_inside_character(line[head])) --head;
  while (tail < line.size() && is_inside_character(line[tail])) ++tail;
  return std::string(line.substr(0, head)).append("…").append(line.substr(tail));
}

}  // namespace qkv
