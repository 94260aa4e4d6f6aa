#include "formats/csv_plain.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <span>
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

void keep(Numeral& cell, const Numeral& read) { cell = read; }
void keep(double& cell, const Numeral& read) { cell = read.value; }

/// Reads lines of `columns` cells into `cells`; false where they are not all numbers, or not as
/// many in each line, or not as many as `cells` has room for.
template <class Cell>
bool read_lines(std::string_view text, std::size_t columns, std::span<Cell> cells) {
  std::size_t column = 0;
  for (Cell& cell : cells) {
    const NumeralResult result = take_plain_cell(text);
    keep(cell, result.numeral);
    ++column;
    const bool more = text.starts_with(',');
    const bool is_right = more ? column < columns : column == columns;
    if (result.fault != NumeralFault::none || !is_right) return false;
    if (!text.empty()) text.remove_prefix(1);
    if (!more) column = 0;
  }
  return text.empty() && column == 0;
}

/// Some whole lines of a file.
struct Piece {
  std::string_view text;
  std::size_t first_line;
  std::size_t lines;
};

/// The text in pieces, which are read side by side.
std::vector<Piece> pieces_of(std::string_view text) {
  constexpr std::size_t piece_size = std::size_t{1} << 20;
  std::vector<Piece> pieces;
  for (std::size_t line = 0; !text.empty();) {
    const std::size_t end = text.find('\n', std::min(piece_size, text.size()));
    const std::size_t size = end == std::string_view::npos ? text.size() : end + 1;
    const std::string_view piece = text.substr(0, size);
    const auto ends = static_cast<std::size_t>(std::count(piece.begin(), piece.end(), '\n'));
    pieces.push_back({piece, line, ends + (piece.ends_with('\n') ? 0 : 1)});
    line += pieces.back().lines;
    text.remove_prefix(size);
  }
  return pieces;
}

std::size_t columns_of(std::string_view text) {
  const std::string_view first = text.substr(0, text.find('\n'));
  return static_cast<std::size_t>(std::count(first.begin(), first.end(), ',')) + 1;
}

/// A plain matrix: every piece is read straight into its place.
template <class Cell>
struct Plain {
  Shape shape;
  std::vector<Cell> cells;
};

template <class Cell>
std::optional<Plain<Cell>> read_plain(std::string_view text, const std::string& where) {
  const std::size_t columns = columns_of(text);
  if (columns < 2) return std::nullopt;
  const std::vector<Piece> pieces = pieces_of(text);
  const std::size_t lines = pieces.back().first_line + pieces.back().lines;
  // A number and what ends it take two characters: lines that are cut short promise too much.
  if (lines > (text.size() + 1) / 2 / columns) return std::nullopt;
  Plain<Cell> plain{.shape = {lines, columns}, .cells = {}};
  plain.cells.resize(count_of(plain.shape, where));
  std::atomic<bool> is_plain = true;
  in_blocks(pieces.size(), 1, 4 * pieces.front().text.size(), [&](std::size_t p, std::size_t) {
    const Piece& piece = pieces[p];
    const auto place =
        std::span(plain.cells).subspan(piece.first_line * columns, piece.lines * columns);
    if (is_plain && !read_lines(piece.text, columns, place)) is_plain = false;
  });
  if (!is_plain) return std::nullopt;
  return plain;
}

}  // namespace

std::optional<Written> read_plain_numbers(std::string_view text, const std::string& where) {
  std::optional<Plain<Numeral>> plain = read_plain<Numeral>(text, where);
  if (!plain) return std::nullopt;
  Written written;
  written.shape = std::move(plain->shape);
  written.cells = std::move(plain->cells);
  return written;
}

std::optional<Tensor> read_plain_matrix(std::string_view text, const std::string& where) {
  std::optional<Plain<double>> plain = read_plain<double>(text, where);
  if (!plain) return std::nullopt;
  return tensor_of(plain->shape, std::move(plain->cells));
}

}  // namespace qkv::csv
