#pragma once

#include <stdexcept>
#include <string>

namespace qkv {

/// Bad input from outside: the message says what is wrong, where, and what to write instead, in one
/// line. main prints it on stderr and ends with status 2.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace qkv
