#include "text/utf8.hpp"

#include "text/unicode.hpp"

namespace qkv {

std::size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  if (static_cast<unsigned char>(text[0]) < 0x80) return 1;  // nearly all there is
  const auto [code, bytes] = decoded(text, 0);
  return code == bad_byte ? 0 : bytes;
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
