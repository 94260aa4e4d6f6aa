#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace qkv::inline interactive {

/// What was pressed.
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
    control,  ///< Ctrl and the letter in `text`
    unknown,
    end_of_input,
  };
  Kind kind = Kind::unknown;
  std::string text = {};

  bool operator==(const Key&) const = default;
};

/// The key of one character: `key('b')`.
inline Key key(char letter) { return {Key::Kind::text, std::string(1, letter)}; }

/// Turns the bytes that a terminal sends into keys, however they are cut into pieces. A lone Esc
/// looks like the beginning of an arrow key: it counts once `flush` says that nothing follows.
/// What is pasted between the marks of bracketed paste is one key, so that it can't press any.
class KeyDecoder {
 public:
  void feed(std::string_view bytes) { waiting_ += bytes; }

  /// The next whole key; nothing where there is none yet.
  std::optional<Key> next();

  /// Whether there is an Esc that may be the beginning of a longer sequence.
  bool is_waiting() const;

  /// The beginning was all of it: Esc by itself, or something unknown.
  std::optional<Key> flush();

 private:
  Key taken(std::size_t bytes, Key key);
  std::optional<Key> sequence();
  std::optional<Key> pasted();
  std::optional<Key> character();

  std::string waiting_;
};

/// A line that is being typed; the cursor is a byte between two characters.
struct LineEdit {
  std::string text = {};
  std::size_t cursor = 0;
  bool selected = false;  ///< all of it: what is typed next takes its place

  bool operator==(const LineEdit&) const = default;
};

/// The line after a key: characters, a paste (its control characters left out), the arrows, Home,
/// End, Backspace, Delete, and Ctrl with a, e, b, f, d, h, k, u, w as in a shell. Other keys change
/// nothing. What is selected gives way to characters and a paste, goes with Backspace and Delete,
/// and is no longer selected after any other key.
LineEdit edited(LineEdit line, const Key& key);

}  // namespace qkv::inline interactive
