#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace qkv {

/// Bad input from outside: the message says what is wrong, where, and what to write instead, in one
/// line. main prints it on stderr and ends with status 2.
class InputError : public std::runtime_error {
 public:
  explicit InputError(std::string message)
      : std::runtime_error(without_zeros(std::move(message))) {}

 private:
  /// what() ends at the first zero byte, which would be the end of a message that quotes one.
  static std::string without_zeros(std::string message) {
    for (std::size_t at = message.find('\0'); at != message.npos; at = message.find('\0', at)) {
      message.replace(at, 1, "\\0");
    }
    return message;
  }
};

/// A name with its line breaks written as \n: each line of a message is a message of its own, and a
/// name must not begin another one.
inline std::string on_one_line(std::string name) {
  for (std::size_t at = name.find('\n'); at != name.npos; at = name.find('\n', at)) {
    name.replace(at, 1, "\\n");
  }
  return name;
}

/// Says of a file, or a place in it, why it can't be taken.
[[noreturn]] inline void refuse(std::string where, std::string_view why) {
  throw InputError((on_one_line(std::move(where)) + ": ").append(why));
}

}  // namespace qkv
