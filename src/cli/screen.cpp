#include "cli/screen.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "cli/command.hpp"
#include "formats/files/write_file.hpp"
#include "text/number.hpp"
#include "text/unicode.hpp"

namespace qkv::inline cli {
namespace {

using namespace std::chrono_literals;

constexpr auto patience = 500ms;  // shorter work needs no bar
constexpr auto between = 100ms;
constexpr std::size_t cells = 20;

// The alternate screen, no wrapping (a line of wrong width is cut), and bracketed paste.
constexpr std::string_view enter_bytes = "\x1b[?1049h\x1b[?7l\x1b[?2004h\x1b[2J";
constexpr std::string_view leave_bytes =
    "\x1b[?2026l\x1b[?2004l\x1b[?7h\x1b[0m\x1b[?25h\x1b[?1049l";

// An arrow key's bytes arrive together, even over slow lines: after this time an Esc is a key.
constexpr int escape_milliseconds = 50;

// State for signal handlers: nothing else is safe there.
termios found;  // the terminal's original state
volatile std::sig_atomic_t taken = 0;
// A byte here ends the wait for keys. EINTR would not do: any thread may get the signal.
int notify_main_loop[2] = {-1, -1};

// A failure is ignored: the terminal is gone.
void write_to_screen(std::string_view bytes) { static_cast<void>(write_all(STDOUT_FILENO, bytes)); }

void set_terminal(const termios& state) {
  while (tcsetattr(STDIN_FILENO, TCSADRAIN, &state) != 0 && errno == EINTR) {
  }
}

// Keys one by one, without echo; Ctrl-C and Ctrl-Z still send their signals.
termios disable_line_mode(termios state) {
  state.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ECHONL | IEXTEN);
  state.c_iflag &= ~static_cast<tcflag_t>(ICRNL | INLCR | IGNCR | IXON | ISTRIP);
  state.c_cc[VMIN] = 1;
  state.c_cc[VTIME] = 0;
  return state;
}

// A signal may come at any point: restoring twice does no harm, never restoring does.
void take() {
  taken = 1;
  set_terminal(disable_line_mode(found));
  write_to_screen(enter_bytes);
}

void restore_terminal() {
  if (!taken) return;
  write_to_screen(leave_bytes);
  set_terminal(found);
  taken = 0;
}

void ask_for_redraw() {
  const char byte = 0;
  // If the pipe is full, the wait has ended already.
  (void)!write(notify_main_loop[1], &byte, 1);
}

void unblock(int signal) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

void on_end(int signal) {
  remove_temporary_file();
  restore_terminal();
  std::signal(signal, SIG_DFL);
  unblock(signal);
  raise(signal);
}

bool is_in_front() { return tcgetpgrp(STDIN_FILENO) == getpgrp(); }

// After Ctrl-Z and fg, and after a stop without a signal; in the background, fg signals later.
void on_continue(int) {
  const int saved = errno;
  if (is_in_front()) {
    take();
    ask_for_redraw();
  }
  errno = saved;
}

void on_stop(int signal) {
  const int saved = errno;
  restore_terminal();
  struct sigaction own, plain{};
  plain.sa_handler = SIG_DFL;
  sigaction(signal, &plain, &own);
  raise(signal);
  unblock(signal);  // the program stops here until it is continued
  sigaction(signal, &own, nullptr);
  // Without a shell to continue it, the program is never stopped, and nothing announces its return.
  if (!taken) on_continue(SIGCONT);
  errno = saved;
}

void on_resize(int) {
  const int saved = errno;
  if (taken) ask_for_redraw();
  errno = saved;
}

// A signal, its handler here, and the action to restore.
struct Handling {
  int signal;
  void (*handler)(int);
  struct sigaction before = {};
};

// Signals that end the program restore the terminal first; then their default action follows.
Handling handlings[] = {{SIGINT, on_end},   {SIGTERM, on_end},      {SIGHUP, on_end},
                        {SIGQUIT, on_end},  {SIGABRT, on_end},      {SIGSEGV, on_end},
                        {SIGBUS, on_end},   {SIGFPE, on_end},       {SIGILL, on_end},
                        {SIGTSTP, on_stop}, {SIGCONT, on_continue}, {SIGWINCH, on_resize}};

[[noreturn]] void refuse_terminal() {
  throw InputError("the terminal can't be stepped on ({}); use --plain", std::strerror(errno));
}

void install() {
  if (notify_main_loop[0] < 0 && pipe2(notify_main_loop, O_NONBLOCK | O_CLOEXEC) != 0)
    refuse_terminal();
  static char spare[64 * 1024];
  const stack_t stack{.ss_sp = spare, .ss_flags = 0, .ss_size = sizeof spare};
  sigaltstack(&stack, nullptr);
  struct sigaction action {};
  action.sa_flags = SA_ONSTACK;  // after a stack overflow a handler needs its own stack
  sigfillset(&action.sa_mask);   // one handler at a time
  for (Handling& one : handlings) {
    action.sa_handler = one.handler;
    sigaction(one.signal, &action, &one.before);
  }
}

std::size_t from_environment(const char* name, std::size_t otherwise) {
  const char* text = std::getenv(name);
  const std::size_t number = text ? parse_number<std::size_t>(text).value_or(0) : 0;
  return number > 0 ? number : otherwise;
}

enum class WaitResult { input, nothing, woken, interrupted };

WaitResult wait_for_input(int longest) {
  pollfd ready[] = {{STDIN_FILENO, POLLIN, 0}, {notify_main_loop[0], POLLIN, 0}};
  const int count = poll(ready, std::size(ready), longest);
  if (count == 0) return WaitResult::nothing;
  if (count > 0 && ready[1].revents != 0) {
    char bytes[64];
    while (read(notify_main_loop[0], bytes, sizeof bytes) > 0) {
    }
    return WaitResult::woken;
  }
  return count > 0 ? WaitResult::input : WaitResult::interrupted;
}

constexpr std::size_t max_messages = 10;

constexpr std::size_t narrowest_terminal = 20;
constexpr std::size_t widest = 10000;

// Output not yet written: a pipe may be full for now, which stdio would take for an error.
std::string pending;

// The errno of the first failed write, reported by finish_output.
int first_failure = 0;

std::size_t width_of_output() {
  std::size_t width = from_environment("COLUMNS", 0);
  winsize size{};
  if (width == 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) width = size.ws_col;
  if (width == 0) return 80;
  return std::clamp(width, narrowest_terminal, widest);
}

bool wants_colour(ColourMode choice) {
  if (choice != ColourMode::automatic) return choice == ColourMode::always;
  const char* no_colour = std::getenv("NO_COLOR");
  return !(no_colour && *no_colour) && can_draw_on(STDOUT_FILENO);
}

}  // namespace

Progress::Progress(std::string what, std::size_t total)
    : what_(std::move(what)),
      total_(std::max<std::size_t>(1, total)),
      on_terminal_(can_draw_on(STDERR_FILENO)),
      next_(Clock::now() + patience) {}

Progress::~Progress() {
  if (!drawn_) return;
  print_error("\r\x1b[K");
  set_terminal_line(TerminalLine::gone);
}

void Progress::advance(std::size_t done) {
  done_ = std::min(done_ + done, total_);
  if (on_terminal_ && Clock::now() >= next_) draw();
}

void Progress::draw() {
  const double share = static_cast<double>(done_) / static_cast<double>(total_);
  const auto full = static_cast<std::size_t>(share * static_cast<double>(cells));
  set_terminal_line(TerminalLine::shown);
  print_error(fmt::format("\r{} [{}{}] {:.0f}%\x1b[K", what_, std::string(full, '#'),
                          std::string(cells - full, '.'), 100 * share));
  drawn_ = true;
  next_ = Clock::now() + between;
}

bool can_draw_on(int descriptor) {
  const char* term = std::getenv("TERM");
  return isatty(descriptor) && term && *term && std::string_view(term) != "dumb";
}

Screen::Screen() {
  if (tcgetattr(STDIN_FILENO, &found) != 0) refuse_terminal();
  flush_output();
  install();
  std::set_terminate([] {
    restore_terminal();
    std::abort();
  });
  take();
}

Screen::~Screen() {
  restore_terminal();
  for (const Handling& one : handlings) sigaction(one.signal, &one.before, nullptr);
  restore_terminal();  // if the program was continued just then
}

WindowSize Screen::size() const {
  winsize size{};  // of 0 rows and columns if it is not known
  ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
  return {.rows = size.ws_row > 0 ? size.ws_row : from_environment("LINES", 24),
          .columns = size.ws_col > 0 ? size.ws_col : from_environment("COLUMNS", 80)};
}

void Screen::draw(const Frame& frame) {
  if (taken) write_to_screen(frame_bytes(frame, size()));  // in the background it is the shell's
}

std::optional<Key> Screen::wait() {
  for (;;) {
    if (auto key = decoder_.next()) return key;
    const WaitResult waited = wait_for_input(decoder_.is_waiting() ? escape_milliseconds : -1);
    if (waited == WaitResult::woken) return {};
    if (waited == WaitResult::nothing) {
      if (auto key = decoder_.flush()) return key;
    }
    if (waited != WaitResult::input) continue;
    char bytes[4096];
    const ssize_t count = read(STDIN_FILENO, bytes, sizeof bytes);
    if (count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN)) {
      return Key{Key::Kind::end_of_input};
    }
    if (count > 0) decoder_.feed({bytes, static_cast<std::size_t>(count)});
  }
}

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
