#pragma once

#include "text/prelude.hpp"

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

/// The size of a terminal's window.
struct WindowSize {
  std::size_t rows = 24;
  std::size_t columns = 80;

  bool operator==(const WindowSize&) const = default;
};

/// The cursor's position while a line is typed, from 0.
struct CursorPlace {
  std::size_t row = 0;
  std::size_t column = 0;
};

/// The content of a window: at most its rows, none wider than its columns.
struct Frame {
  std::vector<std::string> lines;
  std::optional<CursorPlace> cursor = {};  ///< if unset, the cursor is hidden
};

/// Wraps each line to `columns`; cell names stay whole.
std::vector<std::string> broken_lines(std::string_view text, std::size_t columns);

/// Returns the lines of a page, wrapped to `columns`. Continuation lines of wide ones, such as
/// commands, are indented; coloured lines are not wrapped.
std::vector<std::string> page_lines(std::string_view text, std::size_t columns);

/// Truncates a line to `columns` and ends it with `…`; colours end there, too.
std::string truncated_line(std::string_view line, std::size_t columns);

/// Returns the escape sequence that draws a frame over the last one. To avoid flicker, it neither
/// clears the window first nor writes a line break after the last column.
std::string frame_bytes(const Frame& frame, WindowSize size);

}  // namespace qkv::inline interactive
