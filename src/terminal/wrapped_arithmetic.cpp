#include "terminal/wrapped_arithmetic.hpp"

#include <algorithm>

#include "text/width.hpp"
#include "text/wrapping.hpp"

namespace qkv {
namespace {

// A product of cells that takes more than a line breaks behind its sign.
std::string with_breaks(const std::string& held, std::size_t columns) {
  constexpr std::string_view times = "·";
  std::string text;
  for (std::size_t at = 0; at < held.size();) {
    const std::size_t end = std::min(held.find(' ', at), held.size());
    std::string word = held.substr(at, end - at);
    if (width(word) > columns) {
      for (std::size_t i = word.find(times); i != std::string::npos; i = word.find(times, i + 3)) {
        word.insert(i + times.size(), " ");
      }
    }
    text += word;
    if (end < held.size()) text += ' ';
    at = end + 1;
  }
  return text;
}

}  // namespace

std::vector<std::string> wrapped_arithmetic(std::string_view line, std::size_t columns) {
  // Blanks inside a cell's name don't break.
  std::string held;
  int depth = 0;
  for (const char c : line) {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    held += c == ' ' && depth > 0 ? std::string(no_break) : std::string(1, c);
  }
  std::vector<std::string> lines = wrapped(with_breaks(held, columns), columns);
  for (std::string& piece : lines) piece = with_plain_blanks(std::move(piece));
  return lines;
}

}  // namespace qkv
