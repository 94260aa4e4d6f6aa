#include "interactive/frame.hpp"

#include "tokens/tokens.hpp"

namespace qkv::inline interactive {
namespace {

using Kind = Key::Kind;

constexpr std::size_t longest = 4096;

std::size_t before(const LineEdit& line) {
  const auto characters = characters_of(line.text.substr(0, line.cursor));
  return line.cursor - (characters.empty() ? 0 : characters.back().size());
}

std::size_t after(const LineEdit& line) {
  const auto characters = characters_of(line.text.substr(line.cursor));
  return line.cursor + (characters.empty() ? 0 : characters.front().size());
}

// The start of the word before the cursor, and of the blanks after it.
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
  std::string typed;  // without control characters and invalid UTF-8
  each_code_point(text, [&](CodePoint code, std::string_view bytes) {
    if (code >= ' ' && code != 0x7f) typed += bytes;
  });
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

// Removes the selection before the key is applied.
LineEdit unselected(LineEdit line, const Key& key) {
  constexpr Kind replacing[] = {Kind::text, Kind::paste, Kind::backspace, Kind::erase};
  line.selected = false;
  return contains(replacing, key.kind) ? LineEdit{} : line;
}

constexpr std::string_view paste_begins = "\x1b[200~";
constexpr std::string_view paste_ends = "\x1b[201~";
// Longer sequences are noise.
constexpr std::size_t max_sequence_bytes = 32;
constexpr std::size_t max_paste_bytes = std::size_t{1} << 20;

struct Known {
  std::string_view bytes;  // after Esc, or alone
  Kind kind;
};

// Sequences of xterm, the Linux console, rxvt, tmux and screen, in both cursor key modes.
constexpr Known known[] = {
    {"[A", Kind::up},       {"OA", Kind::up},         {"[B", Kind::down},   {"OB", Kind::down},
    {"[C", Kind::right},    {"OC", Kind::right},      {"[D", Kind::left},   {"OD", Kind::left},
    {"[H", Kind::home},     {"OH", Kind::home},       {"[1~", Kind::home},  {"[7~", Kind::home},
    {"[F", Kind::end},      {"OF", Kind::end},        {"[4~", Kind::end},   {"[8~", Kind::end},
    {"[5~", Kind::page_up}, {"[6~", Kind::page_down}, {"[3~", Kind::erase}, {"[Z", Kind::back_tab},
    {"OM", Kind::enter},
};

constexpr Known controls[] = {{"\r", Kind::enter},
                              {"\n", Kind::enter},
                              {"\t", Kind::tab},
                              {"\b", Kind::backspace},
                              {"\x7f", Kind::backspace}};

// The length of the sequence after Esc; 0 if it is incomplete.
std::size_t sequence_length(std::string_view after) {
  if (after.empty()) return 0;
  if (after[0] == 'O') return after.size() < 2 ? 0 : 2;
  if (after[0] != '[') return 1;  // Alt and a key
  std::size_t i = 1;
  if (i < after.size() && after[i] == '[') return after.size() < 3 ? 0 : 3;  // Linux: F1 is [[A
  while (i < after.size() && !(after[i] >= '@' && after[i] <= '~')) {
    if (after[i] < ' ' || i > max_sequence_bytes) return i;  // interrupted
    ++i;
  }
  return i < after.size() ? i + 1 : 0;
}

// Arrows with Shift, Ctrl or Alt are plain arrows: "[1;5C" is "[C".
std::string without_modifiers(std::string_view sequence) {
  const std::size_t semicolon = sequence.find(';');
  if (semicolon == std::string_view::npos) return std::string(sequence);
  const std::string_view before = sequence.substr(0, semicolon);
  const char last = sequence.back();
  return last == '~' ? std::string(before) + "~" : "[" + std::string(1, last);
}

}  // namespace

LineEdit edited(LineEdit line, const Key& key) {
  if (line.selected) return edited(unselected(line, key), key);
  switch (key.kind) {
    case Kind::text:
    case Kind::paste: return with(line, key.text);
    case Kind::left: return moved(line, before(line));
    case Kind::right: return moved(line, after(line));
    case Kind::home: return moved(line, 0);
    case Kind::end: return moved(line, line.text.size());
    case Kind::backspace: return without(line, before(line), line.cursor);
    case Kind::erase: return without(line, line.cursor, after(line));
    case Kind::control: return controlled(line, key.text.front());
    default: return line;
  }
}

Key KeyDecoder::taken(std::size_t bytes, Key key) {
  waiting_.erase(0, bytes);
  return key;
}

std::optional<Key> KeyDecoder::next() {
  if (waiting_.empty()) return {};
  if (waiting_.starts_with(paste_begins)) return pasted();
  if (waiting_.front() == '\x1b') return sequence();
  return character();
}

// False for half a character or half a paste: the rest is coming, however long that takes.
bool KeyDecoder::is_waiting() const {
  return waiting_.starts_with('\x1b') && !waiting_.starts_with(paste_begins);
}

std::optional<Key> KeyDecoder::flush() {
  if (!is_waiting()) return {};
  if (waiting_ == "\x1b") return taken(1, {Kind::escape});
  return taken(waiting_.size(), {Kind::unknown});
}

std::optional<Key> KeyDecoder::sequence() {
  const std::string_view after = std::string_view(waiting_).substr(1);
  if (after.starts_with('\x1b')) return taken(1, {Kind::escape});
  const std::size_t length = sequence_length(after);
  if (length == 0) return {};
  const std::string plain = without_modifiers(after.substr(0, length));
  const Known* found = find_by(known, plain, &Known::bytes);
  return taken(1 + length, {found ? found->kind : Kind::unknown});
}

std::optional<Key> KeyDecoder::pasted() {
  const std::size_t end = waiting_.find(paste_ends);
  if (end == std::string::npos) {
    if (waiting_.size() < max_paste_bytes) return {};
    return taken(waiting_.size(), {Kind::unknown});  // its end was lost
  }
  Key key{Kind::paste, waiting_.substr(paste_begins.size(), end - paste_begins.size())};
  return taken(end + paste_ends.size(), std::move(key));
}

std::optional<Key> KeyDecoder::character() {
  const char first = waiting_.front();
  const Known* control = find_by(controls, std::string_view(&first, 1), &Known::bytes);
  if (control) return taken(1, {control->kind});
  if (static_cast<unsigned char>(first) < ' ') {
    return taken(1, {Kind::control, std::string(1, static_cast<char>(first + 'a' - 1))});
  }
  const std::size_t length = utf8_length(waiting_);
  if (length > 0) return taken(length, {Kind::text, waiting_.substr(0, length)});
  // The rest of the character may still come; an invalid first byte never becomes valid.
  const auto lead = static_cast<unsigned char>(first);
  const bool may_grow = lead >= 0xC2 && lead <= 0xF4 && waiting_.size() < 4 &&
                        std::all_of(waiting_.begin() + 1, waiting_.end(), is_continuation_byte);
  if (may_grow) return {};
  return taken(1, {Kind::unknown});
}

}  // namespace qkv::inline interactive
