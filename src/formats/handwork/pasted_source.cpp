#include "formats/handwork/pasted_source.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "formats/handwork/cell.hpp"
#include "text/error.hpp"

namespace qkv::pasted {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80) != 0;
}

void Source::refuse(std::size_t pos, std::string_view why) const {
  const auto before = text.substr(0, std::min(pos, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  throw InputError(fmt::format("{}: line {}: {}", where, line, why));
}

Numeral read_number(std::string_view token, const Source& source, std::size_t pos) {
  if (token == "True" || token == "true") return {.value = 1};
  if (token == "False" || token == "false") return {.value = 0};
  const NumeralResult result = parse_cell(token);
  if (result.fault == NumeralFault::none) return result.numeral;
  if (source.unread == nullptr) source.refuse(pos, refusal(result.fault, token));
  return keep_unread(*source.unread, token);
}

}  // namespace qkv::pasted
