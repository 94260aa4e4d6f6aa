#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace qkv {

/// Bad input from outside: the message says what is wrong, where, and what to write instead, in one
/// line. main prints it on stderr and ends with status 2.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Says of a file, or a place in it, why it can't be taken.
[[noreturn]] inline void refuse(const std::string& where, std::string_view why) {
  throw InputError((where + ": ").append(why));
}

}  // namespace qkv
