#pragma once

#include <chrono>

#include "interactive/frame.hpp"

namespace qkv::inline cli {

/// Takes over the terminal on standard input and output while it lives: keys are read one by one,
/// and frames go to the alternate screen, so that the scrollback stays. The terminal is restored on
/// destruction, and also if a signal ends the program, Ctrl-Z stops it, or it crashes. Only one at
/// a time. Throws InputError if the terminal cannot be taken over.
class Screen : NotCopied {
 public:
  Screen();
  ~Screen();

  WindowSize size() const;
  void draw(const Frame& frame);

  /// Waits for the next key. Nothing if the window was resized or the program resumed: redraw.
  std::optional<Key> wait();

  /// Returns a key that has already arrived; nothing if there is none.
  std::optional<Key> next() { return decoder_.next(); }

 private:
  KeyDecoder decoder_;
};

/// True if the descriptor is of a terminal that TERM does not call dumb: it moves its cursor, and
/// has colours.
bool can_draw_on(int descriptor);

/// A progress bar on standard error, only on a terminal and after half a second. It is erased on
/// destruction, and by a signal that ends the program.
///
///     exporting [#########...........] 45%
class Progress : NotCopied {
 public:
  Progress(std::string what, std::size_t total);
  ~Progress();

  /// Adds `done` to the finished part of the total.
  void advance(std::size_t done);

 private:
  using Clock = std::chrono::steady_clock;

  void draw();

  std::string what_;
  std::size_t total_;
  std::size_t done_ = 0;
  bool on_terminal_;
  bool drawn_ = false;
  Clock::time_point next_;  ///< the earliest time of the next redraw
};

}  // namespace qkv::inline cli
