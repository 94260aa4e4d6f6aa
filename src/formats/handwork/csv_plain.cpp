#include "formats/handwork/csv_plain.hpp"

#include <fast_float/fast_float.h>
#include <limits>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <span>
#include <vector>

#include "formats/handwork/numeral.hpp"
#include "tensor/parallel.hpp"

namespace qkv::csv {
namespace {

bool ends_plain_cell(char c) { return c == ',' || c == '\n'; }

/// The decimals of the number that `token` spells; nothing where it has an exponent, too.
std::optional<int> decimals_in(std::string_view token) {
  if (token.find_first_of("eE") != std::string_view::npos) return std::nullopt;
  const std::size_t point = token.find('.');
  return point == std::string_view::npos ? 0 : static_cast<int>(token.size() - point - 1);
}

// Whether a number may be a whole one that no double holds.
bool may_be_rounded(std::string_view token) {
  constexpr std::size_t fewest_digits = 16;
  return token.size() >= fewest_digits && token.find_first_of(".eE") == std::string_view::npos;
}

// What a cell keeps of a number that fast_float read from `token`; false where it needs to
// know more.
bool keep(double& cell, double value, std::string_view) {
  cell = value;
  return true;
}
bool keep(Numeral& cell, double value, std::string_view token) {
  const auto decimals = decimals_in(token);
  const bool fits = decimals && *decimals <= std::numeric_limits<std::int16_t>::max();
  if (fits) cell = {.value = value, .decimals = static_cast<std::int16_t>(*decimals)};
  return fits;
}

// What a cell keeps of a number that the general reader read; false where it has no place for it.
bool keep(double& cell, const Numeral& read) {
  cell = read.value;
  return !std::isnan(read.value);
}
bool keep(Numeral& cell, const Numeral& read) {
  cell = read;
  return true;
}

/// Takes one cell off the front of `text`, up to its comma or line end; false where it is none.
template <class Cell>
bool take_plain_cell(std::string_view& text, Cell& cell) {
  const char* const start = text.data();
  const char* const end = start + text.size();
  double value = 0;
  const auto [stop, error] = fast_float::from_chars(start, end, value);
  const auto size = static_cast<std::size_t>(stop - start);
  const bool whole_cell = error == std::errc{} && (stop == end || ends_plain_cell(*stop));
  // It has other rules for words than the general reader, and rounds whole numbers.
  if (whole_cell && !may_be_rounded(text.substr(0, size)) && std::isfinite(value) &&
      keep(cell, value, text.substr(0, size))) {
    text.remove_prefix(size);
    return true;
  }
  const char* const cell_end = std::find_if(start, end, ends_plain_cell);
  const std::string_view token = text.substr(0, static_cast<std::size_t>(cell_end - start));
  const NumeralResult result = parse_numeral(token);
  text.remove_prefix(token.size());
  return result.fault == NumeralFault::none && keep(cell, result.numeral);
}

/// Reads lines of `columns` cells into `cells`; false where they are not all numbers, or not as
/// many in each line, or not as many as `cells` has room for.
template <class Cell>
bool read_lines(std::string_view text, std::size_t columns, std::span<Cell> cells) {
  std::size_t column = 0;
  for (Cell& cell : cells) {
    if (!take_plain_cell(text, cell)) return false;
    ++column;
    const bool more = text.starts_with(',');
    const bool is_right = more ? column < columns : column == columns;
    if (!is_right) return false;
    if (!text.empty()) text.remove_prefix(1);
    if (!more) column = 0;
  }
  return text.empty() && column == 0;
}

/// Some whole lines of a file.
struct Piece {
  std::string_view text;
  std::size_t first_line = 0;
  std::size_t lines = 0;
};

std::size_t lines_in(std::string_view text) {
  std::size_t lines = 0;
  while (!text.empty()) {
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
    ++lines;
  }
  return lines;
}

/// The text in pieces, which are read side by side.
std::vector<Piece> pieces_of(std::string_view text) {
  constexpr std::size_t piece_size = std::size_t{1} << 20;
  std::vector<Piece> pieces;
  while (!text.empty()) {
    const std::size_t end = text.find('\n', std::min(piece_size, text.size()));
    pieces.push_back({text.substr(0, end == std::string_view::npos ? end : end + 1)});
    text.remove_prefix(pieces.back().text.size());
  }
  in_blocks(pieces.size(), 1, piece_size / 16,
            [&](std::size_t p, std::size_t) { pieces[p].lines = lines_in(pieces[p].text); });
  for (std::size_t p = 1; p < pieces.size(); ++p) {
    pieces[p].first_line = pieces[p - 1].first_line + pieces[p - 1].lines;
  }
  return pieces;
}

std::size_t columns_of(std::string_view text) {
  const std::string_view first = text.substr(0, text.find('\n'));
  return static_cast<std::size_t>(std::count(first.begin(), first.end(), ',')) + 1;
}

/// A file that has room for lines of as many cells as the first one.
struct PlainLines {
  Shape shape;
  std::vector<Piece> pieces;
};

std::optional<PlainLines> plain_lines(std::string_view text, const std::string& where) {
  const std::size_t columns = columns_of(text);
  if (columns < 2) return std::nullopt;
  PlainLines lines{.shape = {}, .pieces = pieces_of(text)};
  const Piece& last = lines.pieces.back();
  lines.shape = {last.first_line + last.lines, columns};
  // A number and what ends it take two characters: lines that are cut short promise too much.
  if (lines.shape[0] > (text.size() + 1) / 2 / columns) return std::nullopt;
  count_of(lines.shape, where);  // or it is too large
  return lines;
}

/// Reads every piece straight into its place; false where not all of them are plain.
template <class Cell>
bool read_pieces(const PlainLines& lines, std::span<Cell> cells) {
  const std::size_t columns = lines.shape[1];
  std::atomic<bool> is_plain = true;
  const std::size_t operations = 4 * lines.pieces.front().text.size();
  in_blocks(lines.pieces.size(), 1, operations, [&](std::size_t p, std::size_t) {
    const Piece& piece = lines.pieces[p];
    const auto place = cells.subspan(piece.first_line * columns, piece.lines * columns);
    if (is_plain && !read_lines(piece.text, columns, place)) is_plain = false;
  });
  return is_plain;
}

}  // namespace

std::optional<Written> read_plain_numbers(std::string_view text, const std::string& where) {
  auto lines = plain_lines(text, where);
  if (!lines) return std::nullopt;
  Written written;
  written.cells.resize(lines->shape[0] * lines->shape[1]);
  if (!read_pieces(*lines, std::span(written.cells))) return std::nullopt;
  written.shape = std::move(lines->shape);
  return written;
}

std::optional<Tensor> read_plain_matrix(std::string_view text, const std::string& where) {
  const auto lines = plain_lines(text, where);
  if (!lines) return std::nullopt;
  Values values = Values::unwritten(lines->shape[0] * lines->shape[1]);
  if (!read_pieces(*lines, values.write())) return std::nullopt;
  return tensor_of(lines->shape, std::move(values));
}

}  // namespace qkv::csv
