#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "interactive/frame.hpp"
#include "interactive/keys.hpp"

namespace qkv::inline cli {

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

/// A bar on standard error that tells how far long work is. It shows up only on a terminal, once
/// the work has taken half a second, and is erased at the end of its life and by a signal that ends
/// the program.
///
///     exporting [#########...........] 45%
class Progress {
 public:
  Progress(std::string what, std::size_t total);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

  /// So much more of the total is done.
  void advance(std::size_t done);

 private:
  using Clock = std::chrono::steady_clock;

  void draw(Clock::time_point now);

  std::string what_;
  std::size_t total_;
  std::size_t done_ = 0;
  bool on_terminal_;
  bool drawn_ = false;
  Clock::time_point next_;  ///< before this nothing is drawn
};

}  // namespace qkv::inline cli
