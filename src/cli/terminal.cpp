#include "cli/command.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "cli/screen.hpp"
#include "formats/files/write_file.hpp"
#include "text/number.hpp"
#include "text/unicode.hpp"

namespace qkv::inline cli {
namespace {

constexpr std::size_t max_messages = 10;

constexpr std::size_t narrowest_terminal = 20;
constexpr std::size_t widest = 10000;

// Output not yet written: a pipe may be full for now, which stdio would take for an error.
std::string pending;

// The errno of the first failed write, reported by finish_output.
int first_failure = 0;

std::size_t width_of_output() {
  const char* columns = std::getenv("COLUMNS");
  std::size_t width = columns ? parse_number<std::size_t>(columns).value_or(0) : 0;
  winsize size{};
  if (width == 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) width = size.ws_col;
  if (width == 0) return 80;
  return std::min(std::max(width, narrowest_terminal), widest);
}

bool wants_colour(ColourMode choice) {
  if (choice != ColourMode::automatic) return choice == ColourMode::always;
  const char* no_colour = std::getenv("NO_COLOR");
  if (no_colour && *no_colour) return false;
  return can_draw_on(STDOUT_FILENO);
}

}  // namespace

void MessageLimit::print_error(std::string_view message) {
  if (++count_ <= max_messages) qkv::print_error(fmt::format("qkv: {}\n", sanitise(message)));
}

void MessageLimit::print_rest(std::string_view kind) const {
  if (count_ <= max_messages) return;
  qkv::print_error(fmt::format("qkv: and {} more {}\n", count_ - max_messages, kind));
}

Terminal output_terminal(ColourMode choice) { return {width_of_output(), wants_colour(choice)}; }

void print(std::string_view text) {
  pending += text;
  constexpr std::size_t enough = 1 << 16;
  if (pending.size() >= enough || isatty(STDOUT_FILENO) == 1) flush_output();
}

void flush_output() {
  const int reason = write_all(STDOUT_FILENO, pending);
  pending.clear();
  if (first_failure == 0) first_failure = reason;
}

void print_error(std::string_view text) {
  flush_output();
  static_cast<void>(write_all(STDERR_FILENO, text));
}

void finish_output() {
  flush_output();
  if (first_failure == 0 || first_failure == EPIPE) return;  // the pipe was closed: not an error
  throw InputError("the output could not be written: {}", std::strerror(first_failure));
}

}  // namespace qkv::inline cli
