#include "lesson/key_depth.hpp"

#include <algorithm>

#include "text/utf8.hpp"

namespace qkv {
namespace {

// Where what begins at `at` with a quote or # ends; behind `at` itself for anything else. Of text
// that is never closed: the end of its line, or of the file where it may have several lines.
// Every character is looked at once: a file may be one line of megabytes.
std::size_t end_of_token(std::string_view toml, std::size_t at) {
  const char c = toml[at];
  if (c == '#') return std::min(toml.find('\n', at), toml.size());
  if (c != '"' && c != '\'') return at + 1;
  const std::string_view triple = c == '"' ? R"(""")" : "'''";
  const bool several_lines = toml.substr(at).starts_with(triple);
  const std::string_view quote = several_lines ? triple : triple.substr(0, 1);
  for (std::size_t i = at + quote.size(); i < toml.size(); ++i) {
    if (toml[i] == '\n' && !several_lines) return i;
    if (c == '"' && toml[i] == '\\') {
      ++i;
    } else if (toml[i] == c && toml.substr(i).starts_with(quote)) {
      return i + quote.size();
    }
  }
  return toml.size();
}

Place place_of(std::string_view toml, std::size_t at) {
  const std::string_view before = toml.substr(0, at);
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  return {.line = 1 + static_cast<std::size_t>(std::ranges::count(before, '\n')),
          .column = 1 + characters_in(before.substr(line_start))};
}

}  // namespace

std::optional<Place> too_deep_key(std::string_view toml) {
  constexpr std::string_view ends_a_key = "=,[]{}\n";
  std::size_t dots = 0;
  for (std::size_t at = 0; at < toml.size(); at = end_of_token(toml, at)) {
    if (toml[at] == '.' && ++dots == deepest_key) return place_of(toml, at);
    if (ends_a_key.find(toml[at]) != ends_a_key.npos) dots = 0;
  }
  return {};
}

}  // namespace qkv
