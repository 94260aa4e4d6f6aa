#include "interactive/keys.hpp"

#include <algorithm>

#include "text/utf8.hpp"

namespace qkv {
namespace {

using Kind = Key::Kind;

constexpr std::string_view paste_begins = "\x1b[200~";
constexpr std::string_view paste_ends = "\x1b[201~";
// What claims to be a sequence and is longer than this is noise.
constexpr std::size_t longest_sequence = 32;
constexpr std::size_t longest_paste = std::size_t{1} << 20;

struct Known {
  std::string_view sequence;  // after Esc
  Kind kind;
};

// As xterm, the Linux console, rxvt, tmux and screen send them, in both cursor key modes.
constexpr Known known[] = {
    {"[A", Kind::up},       {"OA", Kind::up},         {"[B", Kind::down},   {"OB", Kind::down},
    {"[C", Kind::right},    {"OC", Kind::right},      {"[D", Kind::left},   {"OD", Kind::left},
    {"[H", Kind::home},     {"OH", Kind::home},       {"[1~", Kind::home},  {"[7~", Kind::home},
    {"[F", Kind::end},      {"OF", Kind::end},        {"[4~", Kind::end},   {"[8~", Kind::end},
    {"[5~", Kind::page_up}, {"[6~", Kind::page_down}, {"[3~", Kind::erase}, {"[Z", Kind::back_tab},
    {"OM", Kind::enter},
};

struct Control {
  char byte;
  Kind kind;
};
constexpr Control controls[] = {{'\r', Kind::enter},
                                {'\n', Kind::enter},
                                {'\t', Kind::tab},
                                {'\b', Kind::backspace},
                                {'\x7f', Kind::backspace}};

bool is_final(char c) { return c >= '@' && c <= '~'; }

// How long the sequence after Esc is; 0 where its end is not there yet.
std::size_t sequence_length(std::string_view after) {
  if (after.empty()) return 0;
  if (after[0] == 'O') return after.size() < 2 ? 0 : 2;
  if (after[0] != '[') return 1;  // Alt and a key
  std::size_t i = 1;
  if (i < after.size() && after[i] == '[') return after.size() < 3 ? 0 : 3;  // Linux: F1 is [[A
  while (i < after.size() && !is_final(after[i])) {
    if (after[i] < ' ' || i > longest_sequence) return i;  // broken off
    ++i;
  }
  return i < after.size() ? i + 1 : 0;
}

// Shift, Ctrl and Alt with an arrow are the arrow: "[1;5C" is "[C".
std::string without_modifiers(std::string_view sequence) {
  const std::size_t semicolon = sequence.find(';');
  if (semicolon == std::string_view::npos) return std::string(sequence);
  const std::string_view before = sequence.substr(0, semicolon);
  const char last = sequence.back();
  return last == '~' ? std::string(before) + "~" : "[" + std::string(1, last);
}

}  // namespace

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

// Half a character, or half of what is pasted, is still on its way, however long that takes.
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
  const auto found = std::find_if(std::begin(known), std::end(known),
                                  [&](const Known& k) { return k.sequence == plain; });
  return taken(1 + length, {found == std::end(known) ? Kind::unknown : found->kind});
}

std::optional<Key> KeyDecoder::pasted() {
  const std::size_t end = waiting_.find(paste_ends);
  if (end == std::string::npos) {
    if (waiting_.size() < longest_paste) return {};
    return taken(waiting_.size(), {Kind::unknown});  // its end got lost
  }
  Key key{Kind::paste, waiting_.substr(paste_begins.size(), end - paste_begins.size())};
  return taken(end + paste_ends.size(), std::move(key));
}

std::optional<Key> KeyDecoder::character() {
  const char first = waiting_.front();
  for (const Control& control : controls) {
    if (control.byte == first) return taken(1, {control.kind});
  }
  if (static_cast<unsigned char>(first) < ' ') {
    return taken(1, {Kind::control, std::string(1, static_cast<char>(first + 'a' - 1))});
  }
  const std::size_t length = utf8_length(waiting_);
  if (length > 0) return taken(length, {Kind::text, waiting_.substr(0, length)});
  // The rest of the character may still come; a byte that can't begin one never gets better.
  const auto lead = static_cast<unsigned char>(first);
  const bool may_grow = lead >= 0xC2 && lead <= 0xF4 && waiting_.size() < 4 &&
                        std::all_of(waiting_.begin() + 1, waiting_.end(), is_inside_character);
  if (may_grow) return {};
  return taken(1, {Kind::unknown});
}

}  // namespace qkv
