#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace qkv::inline text {

/// Returns text with each `what` replaced.
inline std::string replaced(std::string text, char what, std::string_view with) {
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at)) {
    text.replace(at, 1, with);
  }
  return text;
}

/// Invalid input from outside. Its message says in one line what is wrong, where, and what to write
/// instead. main prints it on stderr and exits with status 2.
class InputError : public std::runtime_error {
 public:
  // what() ends at the first zero byte: a message that quotes one would lose the rest.
  explicit InputError(std::string message)
      : std::runtime_error(replaced(std::move(message), '\0', "\\0")) {}
};

/// Returns a name with its line breaks written as \n, since each line on stderr is a message of its
/// own.
inline std::string on_one_line(std::string name) { return replaced(std::move(name), '\n', "\\n"); }

/// Throws InputError: `where`, a file or a place in it, then why it is refused.
[[noreturn]] inline void refuse(std::string where, std::string_view why) {
  throw InputError((on_one_line(std::move(where)) + ": ").append(why));
}

}  // namespace qkv::inline text
