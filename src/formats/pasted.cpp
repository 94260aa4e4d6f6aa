#include "formats/pasted.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "formats/csv.hpp"
#include "formats/pasted_brackets.hpp"
#include "formats/pasted_display.hpp"
#include "formats/pasted_source.hpp"
#include "tensor/error.hpp"

namespace qkv {
namespace {

using pasted::fit_example;
using pasted::npos;
using pasted::Source;

void refuse_shortened(const Source& source) {
  const std::size_t dots = std::min(source.text.find("..."), source.text.find("…"));
  if (dots == npos) return;
  source.refuse(dots,
                "numbers were left out at \"...\": print the whole matrix, with "
                "numpy.set_printoptions(threshold=sys.maxsize) or "
                "torch.set_printoptions(profile=\"full\")");
}

/// Whether the first cell is empty or quoted: then it is CSV, where "..." may be a label.
bool opens_like_csv(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  return first != npos && std::string_view(",;\t\"").find(text[first]) != npos;
}

void refuse_numberless(const Source& source) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  std::string small(source.text);
  std::transform(small.begin(), small.end(), small.begin(), lower);
  for (const std::string_view sign : {"inf", "nan", "∞", "true", "false"}) {
    if (small.find(sign) != npos) return;
  }
  if (small.find_first_of("0123456789") != npos) return;
  throw InputError(fmt::format("{}: there are no numbers in it: {}", source.where, fit_example));
}

}  // namespace

Written read_pasted(std::string_view text, const std::string& where,
                    std::optional<std::array<std::size_t, 2>> expected) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  const Source source{.text = text, .where = where};
  if (opens_like_csv(text)) return read_csv(text, where, expected);
  refuse_shortened(source);
  if (const auto start = pasted::opening_bracket(text)) {
    return pasted::read_brackets(source, *start);
  }
  refuse_numberless(source);
  if (pasted::has_display_lines(text)) return pasted::read_display(source);
  return read_csv(text, where, expected);
}

}  // namespace qkv
