#include "formats/handwork/pasted.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "formats/handwork/csv.hpp"
#include "formats/handwork/pasted_display.hpp"
#include "formats/handwork/pasted_source.hpp"
#include "formats/handwork/printed_text.hpp"
#include "text/error.hpp"
#include "text/lowercase.hpp"

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
  const std::string small = ascii_lowercase(std::string(source.text));
  for (const std::string_view sign : {"inf", "nan", "∞", "true", "false"}) {
    if (small.find(sign) != npos) return;
  }
  if (small.find_first_of("0123456789") != npos) return;
  throw InputError(fmt::format("{}: there are no numbers in it: {}", source.where, fit_example));
}

}  // namespace

Written read_pasted_for(std::string_view text, const std::string& where, const Wanted& wanted) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  Written unread;  // for the texts of cells that are no numbers
  const Source source{.text = text,
                      .where = where,
                      .unread = wanted.unreadable == Unreadable::kept ? &unread : nullptr};
  if (opens_like_csv(text)) return read_csv_for(text, where, wanted);
  refuse_shortened(source);
  const auto start = pasted::opening_bracket(text);
  if (!start) {
    refuse_numberless(source);
    if (!pasted::has_display_lines(text)) return read_csv_for(text, where, wanted);
  }
  Written written = start ? pasted::read_brackets(source, *start) : pasted::read_display(source);
  settle_exact(written.cells);
  written.unread = std::move(unread.unread);
  return written;
}

Written read_pasted(std::string_view text, const std::string& where,
                    std::optional<std::array<std::size_t, 2>> expected) {
  return read_pasted_for(text, where, {.expected = expected});
}

}  // namespace qkv
