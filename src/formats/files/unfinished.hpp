#pragma once

#include <string>

namespace qkv {

/// The name of a temporary file: on SIGINT, SIGTERM or SIGHUP it is removed, as long as this lives.
/// The program then ends as the signal ends it.
class WatchedName {
 public:
  struct Slot;

  explicit WatchedName(const std::string& name);
  WatchedName(const WatchedName&) = delete;
  WatchedName& operator=(const WatchedName&) = delete;
  ~WatchedName();

 private:
  Slot* slot_ = nullptr;
};

/// Removes the temporary files that have a WatchedName now. For handlers of signals: it allocates
/// nothing and never waits.
void remove_unfinished();

enum class LineOnTerminal { shown, gone };

/// Says whether a line without an end, such as a progress bar, stands on standard error: the same
/// signals erase it.
void watch_line(LineOnTerminal line);

}  // namespace qkv
