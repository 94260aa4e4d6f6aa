#include "formats/handwork/csv.hpp"

#include <fast_float/fast_float.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "formats/handwork/csv_layout.hpp"
#include "formats/handwork/numeral.hpp"
#include "tensor/parallel.hpp"
#include "text/error.hpp"
#include "text/strings.hpp"

namespace qkv::inline formats {

namespace csv {
namespace {

bool ends_plain_cell(char c) { return c == ',' || c == '\n'; }

/// The number of decimals in `token`; nothing if it has an exponent.
std::optional<int> decimals_in(std::string_view token) {
  if (token.find_first_of("eE") != std::string_view::npos) return std::nullopt;
  const std::size_t point = token.find('.');
  return point == std::string_view::npos ? 0 : static_cast<int>(token.size() - point - 1);
}

// True if it may be an integer that no double holds.
bool may_be_rounded(std::string_view token) {
  constexpr std::size_t fewest_digits = 16;
  return token.size() >= fewest_digits && token.find_first_of(".eE") == std::string_view::npos;
}

// Stores a number that fast_float parsed from `token`; false if the cell needs more than the value.
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

// Stores a number of the general parser; false if the cell cannot represent it.
bool keep(double& cell, const Numeral& read) {
  cell = read.value;
  return !std::isnan(read.value);
}
bool keep(Numeral& cell, const Numeral& read) {
  cell = read;
  return true;
}

/// Parses one cell off the front of `text`, up to its comma or line end; false if it is none.
template <class Cell>
bool take_plain_cell(std::string_view& text, Cell& cell) {
  const char* const start = text.data();
  const char* const end = start + text.size();
  double value = 0;
  const auto [stop, error] = fast_float::from_chars(start, end, value);
  const auto size = static_cast<std::size_t>(stop - start);
  const bool whole_cell = error == std::errc{} && (stop == end || ends_plain_cell(*stop));
  // fast_float has other rules for words than the general parser, and rounds integers.
  if (whole_cell && !may_be_rounded(text.substr(0, size)) && std::isfinite(value) &&
      keep(cell, value, text.substr(0, size))) {
    text.remove_prefix(size);
    return true;
  }
  const char* const cell_end = std::find_if(start, end, ends_plain_cell);
  const std::string_view token = text.substr(0, static_cast<std::size_t>(cell_end - start));
  const NumeralResult result = parse_numeral(token);
  text.remove_prefix(token.size());
  return result.fault == NumeralError::none && keep(cell, result.numeral);
}

/// Parses lines of `columns` cells into `cells`; false if one is no number, or if counts differ.
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

/// Some complete lines of a file.
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

/// Divides the text into pieces that are parsed in parallel.
std::vector<Piece> pieces_of(std::string_view text) {
  constexpr std::size_t piece_size = std::size_t{1} << 20;
  std::vector<Piece> pieces;
  while (!text.empty()) {
    const std::size_t end = text.find('\n', std::min(piece_size, text.size()));
    pieces.push_back({text.substr(0, end == std::string_view::npos ? end : end + 1)});
    text.remove_prefix(pieces.back().text.size());
  }
  parallel_for(pieces.size(), 1, piece_size / 16,
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

/// The lines of a file, with the first one's number of cells.
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
  // A number and its separator take two characters: shorter lines do not fit the estimate.
  if (lines.shape[0] > (text.size() + 1) / 2 / columns) return std::nullopt;
  element_count(lines.shape, where);  // throws if too large
  return lines;
}

/// Parses all pieces into their places; false if one of them is not plain.
template <class Cell>
bool read_pieces(const PlainLines& lines, std::span<Cell> cells) {
  const std::size_t columns = lines.shape[1];
  std::atomic<bool> is_plain = true;
  const std::size_t operations = 4 * lines.pieces.front().text.size();
  parallel_for(lines.pieces.size(), 1, operations, [&](std::size_t p, std::size_t) {
    const Piece& piece = lines.pieces[p];
    const auto place = cells.subspan(piece.first_line * columns, piece.lines * columns);
    if (is_plain && !read_lines(piece.text, columns, place)) is_plain = false;
  });
  return is_plain;
}

}  // namespace

std::optional<ParsedArray> read_plain_numbers(std::string_view text, const std::string& where,
                                              std::size_t most) {
  auto lines = plain_lines(text, where);
  if (!lines) return std::nullopt;
  if (lines->shape[0] * lines->shape[1] > most) return std::nullopt;
  ParsedArray written;
  written.cells.resize(lines->shape[0] * lines->shape[1]);
  if (!read_pieces(*lines, std::span(written.cells))) return std::nullopt;
  written.shape = std::move(lines->shape);
  return written;
}

std::optional<Tensor> read_plain_matrix(std::string_view text, const std::string& where) {
  const auto lines = plain_lines(text, where);
  if (!lines) return std::nullopt;
  Values values = Values::uninitialised(lines->shape[0] * lines->shape[1]);
  if (!read_pieces(*lines, values.mutable_span())) return std::nullopt;
  return tensor_of(lines->shape, std::move(values));
}
}  // namespace csv

namespace {

using csv::Field;
using csv::Table;

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

// ---------------------------------------------------------------- labels

/// True if `holds` for each field of the first row and column but the corner, and its number.
template <class Holds>
bool all_of_margins(const Table& table, const Holds& holds) {
  for (std::size_t j = 1; j < table.columns(); ++j) {
    if (!holds(table.at(0, j), j)) return false;
  }
  for (std::size_t i = 1; i < table.rows.size(); ++i) {
    if (!holds(table.at(i, 0), i)) return false;
  }
  return true;
}

/// True if the field may label the column or row of that number: it is a word, the number itself,
/// or another number in quotes, as write_csv writes it.
bool labels_position(const Field& field, std::size_t number, bool quotes_tell) {
  return csv::is_text(field) || field.text == std::to_string(number) ||
         (quotes_tell && field.quoted && !field.text.empty());
}

/// True if the first row and column are labels.
bool has_names_in_margins(const Table& table) {
  if (table.rows.size() < 2 || table.columns() < 2) return false;
  const bool quotes_tell = !table.at(1, 1).quoted;
  return all_of_margins(table, [&](const Field& field, std::size_t number) {
    return labels_position(field, number, quotes_tell);
  });
}

bool is_labelled(const Table& table, const ReadOptions& wanted) {
  const auto& expected = wanted.expected;
  const bool one_more_each_way = expected &&
                                 table.rows.size() == (*expected)[0] * wanted.stacked + 1 &&
                                 table.columns() == (*expected)[1] + 1;
  if (!table.at(0, 0).text.empty()) {  // "token,x,y" over "the,0.5,0.25"
    return one_more_each_way && csv::is_text(table.at(0, 0));
  }
  const auto is_number = [](const Field& field, std::size_t) { return !csv::is_text(field); };
  if (one_more_each_way || !all_of_margins(table, is_number)) return true;
  // A matrix of the expected size may have a blank in its first cell, and 1, 2, 3 beside it.
  const bool has_expected_size =
      expected && table.columns() == (*expected)[1] &&
      (table.rows.size() == (*expected)[0] || table.rows.size() == (*expected)[0] * wanted.stacked);
  return !has_expected_size && has_names_in_margins(table);
}

/// Returns no labels if all are empty or only count.
std::vector<std::string> informative_labels(std::vector<std::string> labels) {
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (!labels[i].empty() && labels[i] != std::to_string(i + 1)) return labels;
  }
  return {};
}

/// The number of label rows and columns before the numbers.
struct Margin {
  std::size_t rows = 0;
  std::size_t columns = 0;
};

void read_labels(const Table& table, const Margin& margin, ParsedArray& written) {
  for (std::size_t i = margin.rows; margin.columns > 0 && i < table.rows.size(); ++i) {
    written.row_labels.push_back(csv::label_of(table.at(i, 0).text));
  }
  for (std::size_t j = margin.columns; margin.rows > 0 && j < table.columns(); ++j) {
    written.column_labels.push_back(csv::label_of(table.at(0, j).text));
  }
  for (const Field& name : table.names) {
    written.column_labels.push_back(csv::label_of(name.text));
  }
  written.row_labels = informative_labels(std::move(written.row_labels));
  written.column_labels = informative_labels(std::move(written.column_labels));
}

// ---------------------------------------------------------------- numbers

bool starts_like_a_word(std::string_view text) {
  return std::string_view("0123456789+-.,\"").find(text.front()) == std::string_view::npos;
}

/// Parses a table's cells and, if none may be kept as text, checks that all use one decimal mark.
class CellReader {
 public:
  CellReader(const Table& table, const std::string& where, OnBadCell on_bad_cell)
      : table_(table), where_(where), on_bad_cell_(on_bad_cell) {}

  Numeral read(std::size_t row, std::size_t column, ParsedArray& written) {
    const Field& field = table_.at(row, column);
    const std::string_view text = trimmed(field.text);
    if (text.empty()) return {.value = std::nan("")};
    const DecimalMark mark = decimal_mark_of(text);
    const NumeralResult result = parse_cell(text, mark);
    if (on_bad_cell_ == OnBadCell::kept) {
      return result.fault == NumeralError::none ? result.numeral : keep_bad_cell(written, text);
    }
    if (result.fault != NumeralError::none) refuse(result.fault, text, row, column);
    if (mark == DecimalMark::comma) comma_seen_ = true;
    if (text.find('.') != std::string_view::npos) point_seen_ = true;
    if (comma_seen_ && point_seen_) refuse_mixed_marks(text, row, column);
    return result.numeral;
  }

 private:
  std::string place(std::size_t row, std::size_t column) const {
    return fmt::format("{}: row {}, column {}: ", where_, table_.rows[row].line, column + 1);
  }

  [[noreturn]] void refuse(NumeralError fault, std::string_view text, std::size_t row,
                           std::size_t column) const {
    std::string message = place(row, column) + refusal(fault, text);
    if (fault == NumeralError::not_a_number) message += ", or leave the cell empty";
    if ((row == 0 || column == 0) && starts_like_a_word(text)) {
      message += "; if the first row or column are labels, leave the first cell of the file empty";
    }
    throw InputError(message);
  }

  [[noreturn]] void refuse_mixed_marks(std::string_view text, std::size_t row,
                                       std::size_t column) const {
    throw InputError(
        fmt::format("{}\"{}\" has a decimal {}, a cell before it a {}: write all with "
                    "points, and no mark between thousands",
                    place(row, column), printable(text),
                    decimal_mark_of(text) == DecimalMark::comma ? "comma" : "point",
                    decimal_mark_of(text) == DecimalMark::comma ? "point" : "comma"));
  }

  const Table& table_;
  const std::string& where_;
  OnBadCell on_bad_cell_;
  bool comma_seen_ = false;
  bool point_seen_ = false;
};

ParsedArray read_table(const Table& table, const std::string& where, const Margin& margin,
                       OnBadCell on_bad_cell) {
  if (table.rows.size() == margin.rows || table.columns() == margin.columns) {
    throw InputError(where + ": there are labels but no numbers: write a number under each label");
  }
  ParsedArray written;
  written.shape = {table.rows.size() - margin.rows, table.columns() - margin.columns};
  written.cells.reserve(element_count(written.shape, where));
  CellReader reader(table, where, on_bad_cell);
  for (std::size_t i = margin.rows; i < table.rows.size(); ++i) {
    for (std::size_t j = margin.columns; j < table.columns(); ++j) {
      written.cells.push_back(reader.read(i, j, written));
    }
  }
  resolve_precision(written.cells);
  read_labels(table, margin, written);
  return written;
}

/// A file of words is not a matrix, unless it has the expected size.
void refuse_words(const ParsedArray& written, const ReadOptions& wanted, const std::string& where) {
  if (written.bad_texts.empty()) return;
  const auto& expected = wanted.expected;
  const bool fits = expected && written.shape == Shape{(*expected)[0], (*expected)[1]};
  const bool some = std::ranges::any_of(
      written.cells, [](const Numeral& cell) { return !std::isnan(cell.value); });
  if (fits || some) return;
  throw InputError(
      fmt::format("{}: {}", where, refusal(NumeralError::not_a_number, written.bad_texts.front())));
}

/// A remark about decimal commas, if rows have twice the expected cells, separated by commas.
std::string remark_on(const Table& table, const ParsedArray& written, const ReadOptions& wanted) {
  const auto& expected = wanted.expected;
  if (!expected || table.separator != ',' || written.shape[0] != (*expected)[0] ||
      written.shape[1] != 2 * (*expected)[1]) {
    return {};
  }
  return fmt::format("each row has {} cells where {} are due{}", written.shape[1], (*expected)[1],
                     csv::decimal_commas_hint);
}

/// Reads one column with decimal commas, which looks like two columns: only the size tells.
std::optional<ParsedArray> read_as_decimal_commas(const Table& table,
                                                  std::array<std::size_t, 2> expected) {
  if (table.separator != ',' || table.columns() != 2 || expected[1] != 1 ||
      table.rows.size() != expected[0]) {
    return std::nullopt;
  }
  ParsedArray written;
  written.shape = {expected[0], 1};
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    if (table.at(i, 0).text.empty() || table.at(i, 1).text.empty()) return std::nullopt;
    const std::string whole = fmt::format("{},{}", table.at(i, 0).text, table.at(i, 1).text);
    const NumeralResult result = parse_numeral(whole, DecimalMark::comma);
    if (result.fault != NumeralError::none) return std::nullopt;
    written.cells.push_back(result.numeral);
  }
  return written;
}

/// True if, by its size, a plain matrix may have labels, surplus cells or split decimals.
bool size_is_ambiguous(const Shape& shape, std::array<std::size_t, 2> expected) {
  const bool has_surplus = shape[0] > expected[0] || shape[1] > expected[1];
  return has_surplus || (shape[1] == 2 && expected[1] == 1);
}

// Skips "sep=;", a line for Excel.
void skip_separator_line(std::string_view& text) {
  if (!text.starts_with("sep=") && !text.starts_with("SEP=")) return;
  const std::size_t end = text.find('\n');
  if (end != std::string_view::npos && end <= 6) text.remove_prefix(end + 1);
}

}  // namespace

ParsedArray read_csv(std::string_view text, const std::string& where, const ReadOptions& wanted) {
  const auto& expected = wanted.expected;
  const std::size_t most = wanted.most_of({});
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  skip_separator_line(text);
  if (auto plain = csv::read_plain_numbers(text, where, most)) {
    if (!expected || !size_is_ambiguous(plain->shape, *expected)) return *std::move(plain);
  }
  const auto ruled = expected ? csv::strip_ruled_lines(text) : std::nullopt;
  Table table = csv::split(ruled ? *ruled : text, where, most);
  csv::normalise_table_rows(table, expected, wanted.stacked, where);
  const bool labelled = table.names.empty() && is_labelled(table, wanted);
  const Margin margin{.rows = labelled ? std::size_t{1} : 0,
                      .columns = labelled || table.row_labels_only ? std::size_t{1} : 0};
  if (expected && !labelled) {
    if (auto written = read_as_decimal_commas(table, *expected)) return *std::move(written);
  }
  ParsedArray written = read_table(table, where, margin, wanted.on_bad_cell);
  refuse_words(written, wanted, where);
  written.remark = remark_on(table, written, wanted);
  return written;
}

}  // namespace qkv::inline formats
