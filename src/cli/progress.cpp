#include "cli/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "cli/terminal.hpp"
#include "formats/files/unfinished.hpp"

namespace qkv {
namespace {

using namespace std::chrono_literals;

constexpr auto patience = 500ms;  // what takes no longer needs no bar
constexpr auto between = 100ms;
constexpr std::size_t cells = 20;

bool draws_on_stderr() {
  const char* term = std::getenv("TERM");
  return isatty(STDERR_FILENO) != 0 && term != nullptr && std::string_view(term) != "dumb";
}

}  // namespace

Progress::Progress(std::string what, std::size_t total)
    : what_(std::move(what)),
      total_(std::max<std::size_t>(1, total)),
      on_terminal_(draws_on_stderr()),
      next_(Clock::now() + patience) {}

Progress::~Progress() {
  if (!drawn_) return;
  tell("\r\x1b[K");
  watch_line(LineOnTerminal::gone);
}

void Progress::advance(std::size_t done) {
  done_ = std::min(done_ + done, total_);
  if (!on_terminal_) return;
  const Clock::time_point now = Clock::now();
  if (now >= next_) draw(now);
}

void Progress::draw(Clock::time_point now) {
  const double share = static_cast<double>(done_) / static_cast<double>(total_);
  const auto full = static_cast<std::size_t>(share * static_cast<double>(cells));
  watch_line(LineOnTerminal::shown);
  tell(fmt::format("\r{} [{}{}] {:.0f}%\x1b[K", what_, std::string(full, '#'),
                   std::string(cells - full, '.'), 100 * share));
  drawn_ = true;
  next_ = now + between;
}

}  // namespace qkv
