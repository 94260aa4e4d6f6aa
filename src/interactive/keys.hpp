#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace qkv::inline interactive {

/// A key press.
struct Key {
  enum class Kind {
    text,  ///< one character, in UTF-8
    paste,
    enter,
    escape,
    tab,
    back_tab,
    backspace,
    erase,
    up,
    down,
    left,
    right,
    page_up,
    page_down,
    home,
    end,
    control,  ///< Ctrl with the letter in `text`
    unknown,
    end_of_input,
  };
  Kind kind = Kind::unknown;
  std::string text = {};

  bool operator==(const Key&) const = default;
};

/// Returns the key of one character: `key('b')`.
inline Key key(char letter) { return {Key::Kind::text, std::string(1, letter)}; }

/// Decodes a terminal's bytes into keys; the bytes may arrive in any pieces. A lone Esc looks like
/// the start of an arrow key, so it becomes a key only on `flush`. A bracketed paste is one key, so
/// that pasted text cannot press keys.
class KeyDecoder {
 public:
  void feed(std::string_view bytes) { waiting_ += bytes; }

  /// Returns the next complete key; nothing if there is none yet.
  std::optional<Key> next();

  /// True if there is an Esc that may start a longer sequence.
  bool is_waiting() const;

  /// Treats the incomplete input as a key: Esc, or unknown.
  std::optional<Key> flush();

 private:
  Key taken(std::size_t bytes, Key key);
  std::optional<Key> sequence();
  std::optional<Key> pasted();
  std::optional<Key> character();

  std::string waiting_;
};

/// A line being edited; the cursor is a byte offset between two characters.
struct LineEdit {
  std::string text = {};
  std::size_t cursor = 0;
  bool selected = false;  ///< all of it: the next input replaces it

  bool operator==(const LineEdit&) const = default;
};

/// Returns the line after a key: characters, a paste (without control characters), the arrows,
/// Home, End, Backspace or Delete. Ctrl with a, e, b, f, d, h, k, u, w acts as in a shell. Other
/// keys change nothing. Characters and a paste replace a selection, Backspace and Delete remove it;
/// every other key ends it.
LineEdit edited(LineEdit line, const Key& key);

}  // namespace qkv::inline interactive
