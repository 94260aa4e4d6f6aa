#include "lesson/utf8_fault.hpp"

#include <fmt/format.h>

#include "text/utf8.hpp"

namespace qkv {

std::optional<Fault> utf8_fault(std::string_view toml) {
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

}  // namespace qkv
