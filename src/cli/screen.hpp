#pragma once

#include <optional>
#include <string_view>

#include "interactive/frame.hpp"
#include "interactive/keys.hpp"

namespace qkv {

/// Takes over the terminal on standard input and output while it lives: keys come one by one, and
/// frames are drawn on the alternate screen, so that the scrollback stays as it was. The terminal
/// is put back as it was found when the object goes, and also when the program is ended by a
/// signal, stopped by Ctrl-Z, or crashes. There can be one at a time. Throws InputError where the
/// terminal can't be taken over.
class Screen {
 public:
  Screen();
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  WindowSize size() const;
  void draw(const Frame& frame);

  /// Waits for the next key. Nothing where the window has changed (another size, back from a stop)
  /// and must be drawn anew.
  std::optional<Key> wait();

  /// A key that has come already; nothing where none has.
  std::optional<Key> next() { return decoder_.next(); }

 private:
  KeyDecoder decoder_;
};

/// Whether standard input and output are terminals that know how to be drawn on: not TERM=dumb.
bool is_terminal();
bool can_draw();

}  // namespace qkv
