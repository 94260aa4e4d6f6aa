#include "interactive/line_edit.hpp"

#include <algorithm>
#include <iterator>

#include "text/utf8.hpp"
#include "tokens/words.hpp"

namespace qkv {
namespace {

constexpr std::size_t longest = 4096;

std::size_t before(const LineEdit& line) {
  const auto characters = characters_of(line.text.substr(0, line.cursor));
  return line.cursor - (characters.empty() ? 0 : characters.back().size());
}

std::size_t after(const LineEdit& line) {
  const auto characters = characters_of(line.text.substr(line.cursor));
  return line.cursor + (characters.empty() ? 0 : characters.front().size());
}

// Blanks, then the word before them.
std::size_t word_before(const LineEdit& line) {
  std::size_t at = line.cursor;
  while (at > 0 && line.text[at - 1] == ' ') --at;
  while (at > 0 && line.text[at - 1] != ' ') --at;
  return at;
}

LineEdit without(LineEdit line, std::size_t from, std::size_t to) {
  line.text.erase(from, to - from);
  line.cursor = from;
  return line;
}

LineEdit with(LineEdit line, const std::string& text) {
  std::string typed;  // without control characters and bytes that are no UTF-8
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(std::string_view(text).substr(at));
    const auto first = static_cast<unsigned char>(text[at]);
    if (length > 1 || (length == 1 && first >= ' ' && first != 0x7f))
      typed += text.substr(at, length);
    at += std::max<std::size_t>(length, 1);
  }
  if (line.text.size() + typed.size() > longest) return line;
  line.text.insert(line.cursor, typed);
  line.cursor += typed.size();
  return line;
}

LineEdit moved(LineEdit line, std::size_t to) {
  line.cursor = to;
  return line;
}

LineEdit controlled(LineEdit line, char letter) {
  const std::size_t all = line.text.size();
  switch (letter) {
    case 'a': return moved(line, 0);
    case 'e': return moved(line, all);
    case 'b': return moved(line, before(line));
    case 'f': return moved(line, after(line));
    case 'd': return without(line, line.cursor, after(line));
    case 'k': return without(line, line.cursor, all);
    case 'u': return without(line, 0, line.cursor);
    case 'w': return without(line, word_before(line), line.cursor);
    default: return line;
  }
}

// What is left of a selected line for the key to work on.
LineEdit unselected(LineEdit line, const Key& key) {
  constexpr Key::Kind replacing[] = {Key::Kind::text, Key::Kind::paste, Key::Kind::backspace,
                                     Key::Kind::erase};
  line.selected = false;
  const bool gone =
      std::find(std::begin(replacing), std::end(replacing), key.kind) != std::end(replacing);
  return gone ? LineEdit{} : line;
}

}  // namespace

LineEdit edited(LineEdit line, const Key& key) {
  if (line.selected) return edited(unselected(line, key), key);
  switch (key.kind) {
    case Key::Kind::text:
    case Key::Kind::paste: return with(line, key.text);
    case Key::Kind::left: return moved(line, before(line));
    case Key::Kind::right: return moved(line, after(line));
    case Key::Kind::home: return moved(line, 0);
    case Key::Kind::end: return moved(line, line.text.size());
    case Key::Kind::backspace: return without(line, before(line), line.cursor);
    case Key::Kind::erase: return without(line, line.cursor, after(line));
    case Key::Kind::control: return controlled(line, key.text.front());
    default: return line;
  }
}

}  // namespace qkv
