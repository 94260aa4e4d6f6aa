#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace qkv::inline text {

/// Invalid input from outside. Its message says in one line what is wrong, where, and what to write
/// instead. main prints it on stderr and exits with status 2.
class InputError : public std::runtime_error {
 public:
  explicit InputError(std::string message);
};

/// Returns a name with its line breaks written as \n, since each line on stderr is a message of its
/// own.
std::string on_one_line(std::string name);

/// Throws InputError: `where`, a file or a place in it, then why it is refused.
[[noreturn]] void refuse(std::string where, std::string_view why);

}  // namespace qkv::inline text
