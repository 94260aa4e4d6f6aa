#include "text/error.hpp"

#include <utility>

namespace qkv::inline text {
namespace {

std::string replaced(std::string text, char what, std::string_view with) {
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at)) {
    text.replace(at, 1, with);
  }
  return text;
}

}  // namespace

// what() ends at the first zero byte: a message that quotes one would lose the rest.
InputError::InputError(std::string message)
    : std::runtime_error(replaced(std::move(message), '\0', "\\0")) {}

std::string on_one_line(std::string name) { return replaced(std::move(name), '\n', "\\n"); }

void refuse(std::string where, std::string_view why) {
  throw InputError((on_one_line(std::move(where)) + ": ").append(why));
}

}  // namespace qkv::inline text
