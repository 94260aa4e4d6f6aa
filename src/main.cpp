#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <new>

#include "cli/command.hpp"
#include "formats/files/write_file.hpp"
#include "terminal/grid.hpp"
#include "text/unicode.hpp"

namespace {

constexpr int bad_input = 2;
constexpr int internal_error = 3;

// Each line of the message is a separate fault.
void print_error_lines(std::string_view message) {
  for (const std::string& line : qkv::lines_of(message)) {
    qkv::print_error(fmt::format("qkv: {}\n", qkv::sanitise(qkv::elide_middle(line))));
  }
}

std::atomic<bool> memory_ran_out = false;

// Called by operator new before it fails. Some noexcept functions of the library (a directory's
// next entry) terminate then, without the reason.
void note_out_of_memory() {
  memory_ran_out = true;
  throw std::bad_alloc();
}

// The last message if memory is too short to report it, or if it runs out before main: it allocates
// nothing. Any other uncaught exception aborts as usual.
[[noreturn]] void terminate_uncaught() {
  bool is_out_of_memory = false;
  try {
    if (std::current_exception()) throw;
    is_out_of_memory = memory_ran_out;
  } catch (const std::bad_alloc&) {
    is_out_of_memory = true;
  } catch (...) {
  }
  if (!is_out_of_memory) std::abort();
  qkv::remove_temporary_file();
  constexpr std::string_view message = "qkv: there is no memory left: close other programs\n";
  [[maybe_unused]] const ssize_t ignored = ::write(STDERR_FILENO, message.data(), message.size());
  ::_exit(bad_input);
}

// Runs before all other constructors: those of some libraries allocate.
[[gnu::constructor(101)]] void install_memory_handlers() {
  std::set_new_handler(note_out_of_memory);
  std::set_terminate(terminate_uncaught);
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_DFL);  // a closed pipe ends the program quietly
  std::signal(SIGXFSZ, SIG_IGN);  // a write beyond the file size limit fails instead
  try {
    const int status = qkv::run_app(argc, argv);
    qkv::finish_output();
    return status;
  } catch (const qkv::InputError& error) {
    print_error_lines(error.what());
  } catch (const std::bad_alloc&) {
    print_error_lines(qkv::out_of_memory());
  } catch (const std::exception& error) {
    print_error_lines(fmt::format("this is a mistake in qkv itself: {}", error.what()));
    return internal_error;
  }
  return bad_input;
}
