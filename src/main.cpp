#include <fmt/format.h>

#include <csignal>
#include <exception>
#include <string>
#include <string_view>

#include "cli/app.hpp"
#include "cli/terminal.hpp"
#include "tensor/memory_limit.hpp"
#include "text/error.hpp"
#include "text/utf8.hpp"
#include "text/visible.hpp"

namespace {

// Each line of the message is a fault of its own.
void tell_each_line(std::string_view message) {
  while (!message.empty()) {
    const std::size_t end = std::min(message.find('\n'), message.size());
    qkv::tell(fmt::format("qkv: {}\n", qkv::visible(qkv::without_middle(message.substr(0, end)))));
    message.remove_prefix(std::min(end + 1, message.size()));
  }
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
    tell_each_line(error.what());
  } catch (const std::bad_alloc&) {
    tell_each_line(qkv::out_of_memory());
  } catch (const std::exception& error) {
    tell_each_line(fmt::format("this is a mistake in qkv itself: {}", error.what()));
    return 3;
  }
  return 2;
}
