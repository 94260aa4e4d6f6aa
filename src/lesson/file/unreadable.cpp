#include "lesson/file/unreadable.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "text/utf8.hpp"

namespace qkv {
namespace {

constexpr std::size_t deepest_key = 16;

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

std::optional<Fault> bad_byte_in(std::string_view toml) {
  Place place;
  for (std::size_t at = 0; at < toml.size();) {
    const std::size_t length = utf8_length(toml.substr(at));
    if (length == 0) {
      return Fault{place, fmt::format("byte 0x{:02x} is not UTF-8; save the file as UTF-8",
                                      static_cast<unsigned char>(toml[at]))};
    }
    place = toml[at] == '\n' ? Place{place.line + 1, 1} : Place{place.line, place.column + 1};
    at += length;
  }
  return {};
}

std::optional<Fault> too_deep_key_in(std::string_view toml) {
  constexpr std::string_view ends_a_key = "=,[]{}\n";
  std::size_t dots = 0;
  for (std::size_t at = 0; at < toml.size(); at = end_of_token(toml, at)) {
    if (toml[at] == '.' && ++dots == deepest_key) {
      return Fault{place_of(toml, at),
                   fmt::format("this key has more than {} parts; a lesson's keys have one, as in "
                               "name = \"Q\"",
                               deepest_key)};
    }
    if (ends_a_key.find(toml[at]) != ends_a_key.npos) dots = 0;
  }
  return {};
}

}  // namespace

std::optional<Fault> unreadable(std::string_view toml) {
  const auto bad = bad_byte_in(toml);
  return bad ? bad : too_deep_key_in(toml);
}

}  // namespace qkv
