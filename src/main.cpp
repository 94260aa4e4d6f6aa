#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "cli/command.hpp"
#include "cli/terminal.hpp"
#include "formats/files/write_file.hpp"
#include "tensor/memory.hpp"
#include "text/error.hpp"
#include "text/escape.hpp"
#include "text/unicode.hpp"

namespace {

constexpr int bad_input = 2;
constexpr int internal_error = 3;

// Each line of the message is a fault of its own.
void print_error_lines(std::string_view message) {
  while (!message.empty()) {
    const std::size_t end = std::min(message.find('\n'), message.size());
    qkv::print_error(
        fmt::format("qkv: {}\n", qkv::sanitise(qkv::elide_middle(message.substr(0, end)))));
    message.remove_prefix(std::min(end + 1, message.size()));
  }
}

std::atomic<bool> memory_ran_out = false;

// What operator new calls before it gives up. The library lets some of its own functions throw
// nothing (a directory's next entry): what ended there is no longer known when the program ends.
void note_out_of_memory() {
  memory_ran_out = true;
  throw std::bad_alloc();
}

// The last word where there is not even memory to say why, or none for what runs before main: it
// allocates nothing. Anything else that is not caught aborts, as it would without this.
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
  qkv::remove_temporary_files();
  constexpr std::string_view message = "qkv: there is no memory left: close other programs\n";
  [[maybe_unused]] const ssize_t told = ::write(STDERR_FILENO, message.data(), message.size());
  ::_exit(bad_input);
}

// Before all others: some of the libraries' own objects allocate when they are made.
[[gnu::constructor(101)]] void install_memory_handlers() {
  std::set_new_handler(note_out_of_memory);
  std::set_terminate(terminate_uncaught);
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_DFL);  // a reader who has seen enough ends the program quietly
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may grow no further is a write that fails
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
