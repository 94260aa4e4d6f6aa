#include "cli/terminal.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "text/error.hpp"
#include "text/number_in.hpp"

namespace qkv {
namespace {

constexpr std::size_t narrowest = 20;
constexpr std::size_t widest = 10000;

// Why the first failed write failed: by the time the output is finished, errno has moved on.
int first_failure = 0;

std::size_t width_of_output() {
  const char* columns = std::getenv("COLUMNS");
  std::size_t width = columns ? number_in<std::size_t>(columns).value_or(0) : 0;
  winsize size{};
  if (width == 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) width = size.ws_col;
  if (width == 0) return 80;
  return std::min(std::max(width, narrowest), widest);
}

bool wants_colour(ColourChoice choice) {
  if (choice != ColourChoice::automatic) return choice == ColourChoice::always;
  const char* no_colour = std::getenv("NO_COLOR");
  if (no_colour && *no_colour) return false;
  const char* term = std::getenv("TERM");
  return isatty(STDOUT_FILENO) && term && std::string_view(term) != "dumb";
}

}  // namespace

Terminal terminal(ColourChoice choice) { return {width_of_output(), wants_colour(choice)}; }

void print(std::string_view text) {
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) < text.size() && first_failure == 0) {
    first_failure = errno;
  }
}

void tell(std::string_view text) {
  std::fflush(stdout);
  std::fwrite(text.data(), 1, text.size(), stderr);
}

void finish_output() {
  errno = 0;
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return;
  const int reason = first_failure != 0 ? first_failure : errno;
  if (reason == EPIPE) return;  // its reader has gone: that is no failure
  throw InputError(fmt::format("the output could not be written: {}", std::strerror(reason)));
}

}  // namespace qkv
