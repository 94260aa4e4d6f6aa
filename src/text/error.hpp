#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace qkv::inline text {

/// Bad input from outside: the message says what is wrong, where, and what to write instead, in one
/// line. main prints it on stderr and ends with status 2.
class InputError : public std::runtime_error {
 public:
  explicit InputError(std::string message);
};

/// A name with its line breaks written as \n: each line of a message is a message of its own, and a
/// name must not begin another one.
std::string on_one_line(std::string name);

/// Says of a file, or a place in it, why it can't be taken.
[[noreturn]] void refuse(std::string where, std::string_view why);

}  // namespace qkv::inline text
