#include "formats/csv_plain.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include "formats/numeral.hpp"
#include "tensor/parallel.hpp"

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

/// Some whole lines of a file, read.
struct Lines {
  std::vector<Numeral> cells;
  bool are_plain = true;  ///< all numbers, as many in each line as `columns` says
};

/// Reads lines of `columns` cells.
Lines read_lines(std::string_view text, std::size_t columns) {
  Lines lines;
  constexpr std::size_t likely_cell = 8;  // characters; more cells than that cost a copy
  lines.cells.reserve(text.size() / likely_cell);
  std::size_t column = 0;
  while (!text.empty()) {
    const NumeralResult result = take_plain_cell(text);
    lines.cells.push_back(result.numeral);
    ++column;
    const bool more = text.starts_with(',');
    const bool line_ends = !more && column == columns;
    lines.are_plain = result.fault == NumeralFault::none && (more ? column < columns : line_ends);
    if (!lines.are_plain) return lines;
    if (!text.empty()) text.remove_prefix(1);
    if (line_ends) column = 0;
  }
  lines.are_plain = column == 0;
  return lines;
}

/// The text in pieces of whole lines, which are read side by side.
std::vector<std::string_view> pieces_of(std::string_view text) {
  constexpr std::size_t piece_size = std::size_t{1} << 20;
  std::vector<std::string_view> pieces;
  while (!text.empty()) {
    const std::size_t end = text.find('\n', std::min(piece_size, text.size()));
    const std::size_t size = end == std::string_view::npos ? text.size() : end + 1;
    pieces.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return pieces;
}

std::size_t columns_of(std::string_view text) {
  const std::string_view first = text.substr(0, text.find('\n'));
  return static_cast<std::size_t>(std::count(first.begin(), first.end(), ',')) + 1;
}

}  // namespace

std::optional<Written> read_plain_numbers(std::string_view text, const std::string& where) {
  const std::size_t columns = columns_of(text);
  if (columns < 2) return std::nullopt;
  const std::vector<std::string_view> pieces = pieces_of(text);
  std::vector<Lines> read(pieces.size());
  in_blocks(pieces.size(), 1, 4 * pieces.front().size(),
            [&](std::size_t p, std::size_t) { read[p] = read_lines(pieces[p], columns); });
  Written written;
  if (read.size() == 1) written.cells = std::move(read.front().cells);
  for (Lines& lines : read) {
    if (!lines.are_plain) return std::nullopt;
    written.cells.insert(written.cells.end(), lines.cells.begin(), lines.cells.end());
    lines.cells = {};
  }
  written.shape = {written.cells.size() / columns, columns};
  count_of(written.shape, where);
  return written;
}

}  // namespace qkv::csv
