#include "formats/files/unfinished.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <climits>
#include <csignal>

namespace qkv {

/// Names of temporaries for the signal handler, in memory that is always there: a handler may not
/// allocate. More files at a time than there are slots are written without a handler's care.
struct WatchedName::Slot {
  enum State { free, being_named, named };
  std::atomic<int> state = free;
  std::array<char, PATH_MAX> name = {};
};

namespace {

std::array<WatchedName::Slot, 16> slots;
std::atomic<bool> line_on_terminal = false;
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free,
              "a signal handler may not wait for a lock");

constexpr std::array deadly_signals = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGPIPE,
                                       SIGALRM, SIGXCPU, SIGUSR1, SIGUSR2};
constexpr std::string_view erase_line = "\r\x1b[K";

/// Removes what is unfinished and ends the program as the signal would have: a shell sees 130 for
/// SIGINT, 143 for SIGTERM.
void clean_up(int signal) {
  remove_unfinished();
  if (line_on_terminal) {
    [[maybe_unused]] const ssize_t not_told =
        ::write(STDERR_FILENO, erase_line.data(), erase_line.size());
  }
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

/// Only where the signal would end the program: nohup and a handler set elsewhere keep theirs.
void install_handlers() {
  for (const int signal : deadly_signals) {
    struct sigaction current = {};
    if (::sigaction(signal, nullptr, &current) != 0 || current.sa_handler != SIG_DFL) continue;
    struct sigaction removal = {};
    removal.sa_handler = clean_up;
    ::sigaction(signal, &removal, nullptr);
  }
}

}  // namespace

void remove_unfinished() {
  for (WatchedName::Slot& slot : slots) {
    if (slot.state == WatchedName::Slot::named) ::unlink(slot.name.data());
  }
}

WatchedName::WatchedName(const std::string& name) {
  install_handlers();
  if (name.size() >= PATH_MAX) return;
  for (Slot& slot : slots) {
    int expected = Slot::free;
    if (!slot.state.compare_exchange_strong(expected, Slot::being_named)) continue;
    std::copy_n(name.c_str(), name.size() + 1, slot.name.begin());
    slot.state = Slot::named;
    slot_ = &slot;
    return;
  }
}

WatchedName::~WatchedName() {
  if (slot_ != nullptr) slot_->state = Slot::free;
}

void watch_line(LineOnTerminal line) {
  if (line == LineOnTerminal::shown) install_handlers();
  line_on_terminal = line == LineOnTerminal::shown;
}

}  // namespace qkv
