#include "formats/csv_plain.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "formats/numeral.hpp"

namespace qkv::csv {
namespace {

bool ends_plain_cell(char c) { return c == ',' || c == '\n'; }

/// Takes one cell off the front of `text`, up to its comma or line end.
NumeralResult take_plain_cell(std::string_view& text) {
  const char* const start = text.data();
  const char* const end = start + text.size();
  double value = 0;
  const auto [stop, error] = std::from_chars(start, end, value);
  const bool whole_cell = error == std::errc{} && (stop == end || ends_plain_cell(*stop));
  const std::string_view token(start, static_cast<std::size_t>(stop - start));
  // Words and exponents are for the general reader: std::from_chars has other rules.
  if (whole_cell && std::isfinite(value) && token.find('e') == std::string_view::npos &&
      token.find('E') == std::string_view::npos) {
    const std::size_t point = token.find('.');
    const std::size_t decimals = point == std::string_view::npos ? 0 : token.size() - point - 1;
    text.remove_prefix(token.size());
    return {.numeral = {.value = value, .decimals = static_cast<int>(decimals)}};
  }
  const char* const cell_end = std::find_if(start, end, ends_plain_cell);
  const auto size = static_cast<std::size_t>(cell_end - start);
  const NumeralResult result = parse_numeral(text.substr(0, size));
  text.remove_prefix(size);
  return result;
}

}  // namespace

std::optional<Written> read_plain_numbers(std::string_view text, const std::string& where) {
  Written written;
  std::size_t columns = 0;
  std::size_t rows = 0;
  std::size_t column = 0;
  const std::size_t size = text.size();
  while (!text.empty()) {
    const NumeralResult result = take_plain_cell(text);
    if (result.fault != NumeralFault::none) return std::nullopt;
    written.cells.push_back(result.numeral);
    ++column;
    const bool more = text.starts_with(',');
    if (!text.empty()) text.remove_prefix(1);
    if (more) continue;
    if (rows == 0) {
      columns = column;
      written.cells.reserve(size / (size - text.size()) * columns);  // rows are about equally long
    }
    if (column != columns) return std::nullopt;
    ++rows;
    column = 0;
  }
  if (rows == 0 || columns < 2 || column != 0) return std::nullopt;
  written.shape = {rows, columns};
  count_of(written.shape, where);
  return written;
}

}  // namespace qkv::csv
