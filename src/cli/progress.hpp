#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace qkv {

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

}  // namespace qkv
