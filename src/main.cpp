#include <fmt/format.h>

#include <csignal>
#include <exception>
#include <string>
#include <string_view>

#include "cli/app.hpp"
#include "cli/terminal.hpp"
#include "render/text.hpp"
#include "tensor/error.hpp"
#include "tensor/memory_limit.hpp"

namespace {

bool is_inside_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

// A message quotes what it speaks of, which may have megabytes: its ends say what and why.
std::string shortened_in_the_middle(std::string_view line) {
  constexpr std::size_t longest = 2000;
  if (line.size() <= longest) return std::string(line);
  std::size_t head = longest / 2;
  std::size_t tail = line.size() - longest / 2;
  while (is_inside_character(line[head])) --head;
  while (is_inside_character(line[tail])) ++tail;
  return std::string(line.substr(0, head)).append("…").append(line.substr(tail));
}

// Each line of the message is a fault of its own.
void tell_each_line(std::string_view message) {
  while (!message.empty()) {
    const std::size_t end = std::min(message.find('\n'), message.size());
    const std::string line = shortened_in_the_middle(message.substr(0, end));
    qkv::tell(fmt::format("qkv: {}\n", qkv::visible(line)));
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
