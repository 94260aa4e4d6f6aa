#include "formats/csv.hpp"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <deque>
#include <stdexcept>

#include "formats/numeral.hpp"
#include "tensor/error.hpp"

namespace qkv {
namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
constexpr char blanks = ' ';                     // the separator of a file in which no other occurs
constexpr std::string_view separators = "\t;,";  // the likeliest first, where a file has several

// ---------------------------------------------------------------- which separator

/// How often one separator stands in the lines of a file.
struct Tally {
  std::size_t in_first_line = 0;
  std::size_t in_this_line = 0;
  std::size_t lines_with = 0;
  bool even = true;  ///< as often in every line as in the first
};

using Tallies = std::array<Tally, separators.size()>;

void close_line(Tallies& tallies, bool first_line) {
  for (Tally& tally : tallies) {
    if (first_line) tally.in_first_line = tally.in_this_line;
    tally.even = tally.even && tally.in_this_line == tally.in_first_line;
    tally.lines_with += tally.in_this_line > 0 ? 1 : 0;
    tally.in_this_line = 0;
  }
}

/// Counts what stands outside quotes. The start of a long file says enough about all of it.
Tallies count_separators(std::string_view text) {
  constexpr std::size_t enough = 1 << 16;
  Tallies tallies;
  bool quoted = false;
  bool blank_line = true;
  bool first_line = true;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') quoted = !quoted;
    if (!quoted && (c == '\n' || c == '\r')) {
      if (!blank_line) close_line(tallies, first_line);
      first_line = first_line && blank_line;
      blank_line = true;
      if (i > enough) return tallies;
      continue;
    }
    if (c != ' ') blank_line = false;
    const std::size_t kind = separators.find(c);
    if (!quoted && kind != std::string_view::npos) ++tallies[kind].in_this_line;
  }
  if (!blank_line) close_line(tallies, first_line);
  return tallies;
}

/// The separator that parts every line alike; else the one found in most lines.
char separator_of(std::string_view text) {
  const Tallies tallies = count_separators(text);
  for (std::size_t kind = 0; kind < separators.size(); ++kind) {
    if (tallies[kind].even && tallies[kind].in_first_line > 0) return separators[kind];
  }
  const auto most =
      std::max_element(tallies.begin(), tallies.end(),
                       [](const Tally& a, const Tally& b) { return a.lines_with < b.lines_with; });
  if (most->lines_with == 0) return blanks;
  return separators[static_cast<std::size_t>(most - tallies.begin())];
}

// ---------------------------------------------------------------- text → table of fields

struct Field {
  std::string_view text;  ///< without quotes; without blanks around it unless it was quoted
  bool quoted = false;
};

struct Row {
  std::size_t line = 0;   ///< in the file, from 1
  std::size_t first = 0;  ///< its first field's place in Table::fields
  std::size_t size = 0;
};

/// A file taken apart, every field still as text.
struct Table {
  std::vector<Field> fields;
  std::vector<Row> rows;
  std::deque<std::string> unquoted;  ///< texts that had "" in them; a deque never moves them
  char separator = ',';

  std::size_t columns() const { return rows.empty() ? 0 : rows.front().size; }
  const Field& at(std::size_t row, std::size_t column) const {
    return fields[rows[row].first + column];
  }
};

/// Walks through a text and takes it apart, row by row.
class Splitter {
 public:
  Splitter(std::string_view text, const std::string& where) : text_(text), where_(where) {
    table_.separator = separator_of(text);
  }

  Table split() {
    while (pos_ < text_.size()) table_.separator == blanks ? split_line() : split_row();
    return std::move(table_);
  }

 private:
  bool at_line_end() const {
    return pos_ == text_.size() || text_[pos_] == '\n' || text_[pos_] == '\r';
  }

  void skip_line_end() {
    if (text_.substr(pos_).starts_with("\r\n")) ++pos_;
    if (pos_ < text_.size()) ++pos_;
    ++line_;
  }

  void skip_spaces() {
    while (pos_ < text_.size() && text_[pos_] == ' ') ++pos_;
  }

  /// A line of numbers with blanks between them; "#" opens a comment, as NumPy writes it.
  void split_line() {
    Row row{.line = line_, .first = table_.fields.size()};
    const std::size_t end = std::min(text_.find_first_of("\r\n", pos_), text_.size());
    const bool comment = text_[pos_] == '#';
    for (skip_spaces(); !comment && pos_ < end; skip_spaces()) {
      const std::size_t stop = std::min(text_.find(' ', pos_), end);
      table_.fields.push_back({.text = text_.substr(pos_, stop - pos_)});
      pos_ = stop;
    }
    pos_ = end;
    row.size = table_.fields.size() - row.first;
    if (row.size == 0 && !comment) row.size = add_empty_field();
    if (row.size > 0) table_.rows.push_back(row);
    skip_line_end();
  }

  std::size_t add_empty_field() {
    table_.fields.push_back({});
    return 1;
  }

  void split_row() {
    Row row{.line = line_, .first = table_.fields.size()};
    for (;;) {
      table_.fields.push_back(next_field());
      if (at_line_end()) break;
      ++pos_;
    }
    row.size = table_.fields.size() - row.first;
    table_.rows.push_back(row);
    skip_line_end();
    // Rows are about equally long, the first one often shorter: it holds labels.
    if (table_.rows.size() == 2) table_.fields.reserve(text_.size() / pos_ * table_.fields.size());
  }

  Field next_field() {
    skip_spaces();
    if (pos_ < text_.size() && text_[pos_] == '"') return quoted_field();
    const std::size_t start = pos_;
    while (!at_line_end() && text_[pos_] != table_.separator) ++pos_;
    std::size_t end = pos_;
    while (end > start && text_[end - 1] == ' ') --end;
    return {.text = text_.substr(start, end - start)};
  }

  Field quoted_field() {
    const std::size_t opened_on = line_;
    const std::size_t start = ++pos_;
    bool doubled = false;
    for (;; ++pos_) {
      if (pos_ == text_.size()) {
        throw InputError(fmt::format("{}: line {}: a quoted cell is never closed: end it with \"",
                                     where_, opened_on));
      }
      if (text_[pos_] == '\n') ++line_;
      if (text_[pos_] != '"') continue;
      if (!text_.substr(pos_ + 1).starts_with('"')) break;
      doubled = true;
      ++pos_;
    }
    const std::string_view inside = text_.substr(start, pos_ - start);
    ++pos_;
    skip_spaces();
    if (!at_line_end() && text_[pos_] != table_.separator) {
      throw InputError(
          fmt::format("{}: line {}: text after the closing quote of \"{}\": put all "
                      "of the cell in the quotes and write \" inside them as \"\"",
                      where_, line_, printable(inside)));
    }
    return {.text = doubled ? undoubled(inside) : inside, .quoted = true};
  }

  std::string_view undoubled(std::string_view inside) {
    std::string& result = table_.unquoted.emplace_back();
    for (std::size_t i = 0; i < inside.size(); ++i) {
      if (inside[i] == '"') ++i;
      result += inside[i];
    }
    return result;
  }

  std::string_view text_;
  const std::string& where_;
  std::size_t pos_ = 0;
  std::size_t line_ = 1;
  Table table_;
};

void refuse_broken_utf8(std::string_view text, const std::string& where) {
  std::size_t line = 1;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8_length(text.substr(i));
    if (length == 0) {
      throw InputError(
          fmt::format("{}: line {}: byte 0x{:02x} is not UTF-8 text: save the file "
                      "as UTF-8",
                      where, line, static_cast<unsigned char>(text[i])));
    }
    if (text[i] == '\n') ++line;
    i += length;
  }
}

// ---------------------------------------------------------------- which rows count

bool is_blank_row(const Table& table, const Row& row) {
  const Field& field = table.fields[row.first];
  return row.size == 1 && field.text.empty() && !field.quoted;
}

void drop_blank_rows(Table& table) {
  std::erase_if(table.rows, [&table](const Row& row) { return is_blank_row(table, row); });
}

void drop_last_blank_rows(Table& table, std::size_t rows_to_keep) {
  while (table.rows.size() > rows_to_keep && is_blank_row(table, table.rows.back())) {
    table.rows.pop_back();
  }
}

/// In a file of one column an empty line can be a blank cell. The expected number of rows decides;
/// without it, only those between two numbers are cells.
void settle_blank_rows(Table& table, std::optional<std::array<std::size_t, 2>> expected) {
  const auto is_blank = [&table](const Row& row) { return is_blank_row(table, row); };
  const auto blank_rows =
      static_cast<std::size_t>(std::count_if(table.rows.begin(), table.rows.end(), is_blank));
  if (blank_rows == 0) return;
  const bool one_column = std::all_of(table.rows.begin(), table.rows.end(),
                                      [](const Row& row) { return row.size == 1; });
  const std::size_t rows_wanted = expected ? (*expected)[0] : 0;
  if (!one_column || table.rows.size() - blank_rows == rows_wanted) return drop_blank_rows(table);
  drop_last_blank_rows(table, rows_wanted);
  if (table.rows.size() == rows_wanted) return;
  table.rows.erase(table.rows.begin(),
                   std::find_if_not(table.rows.begin(), table.rows.end(), is_blank));
}

void refuse_empty_table(const Table& table, const std::string& where) {
  const bool something = std::any_of(table.fields.begin(), table.fields.end(),
                                     [](const Field& f) { return !f.text.empty() || f.quoted; });
  if (something || table.columns() > 1) return;
  throw InputError(where +
                   ": the file is empty: write one row of numbers a line, such as 0.5,0.25");
}

void refuse_ragged_rows(const Table& table, const std::string& where) {
  const auto cells = [](std::size_t count) {
    return fmt::format("{} cell{}", count, count == 1 ? "" : "s");
  };
  for (const Row& row : table.rows) {
    if (row.size == table.columns()) continue;
    throw InputError(
        fmt::format("{}: row {} has {}, row {} has {}: give every row {}, an empty "
                    "one for a blank",
                    where, row.line, cells(row.size), table.rows.front().line,
                    cells(table.columns()), cells(table.columns())));
  }
}

// ---------------------------------------------------------------- labels

DecimalMark mark_of(std::string_view cell) {
  return cell.find(',') == std::string_view::npos ? DecimalMark::point : DecimalMark::comma;
}

bool is_text(const Field& field) {
  return !field.text.empty() && parse_numeral(trimmed(field.text), mark_of(field.text)).fault ==
                                    NumeralFault::not_a_number;
}

bool has_text_in_margin(const Table& table) {
  for (std::size_t j = 1; j < table.columns(); ++j) {
    if (is_text(table.at(0, j))) return true;
  }
  for (std::size_t i = 1; i < table.rows.size(); ++i) {
    if (is_text(table.at(i, 0))) return true;
  }
  return false;
}

bool is_labelled(const Table& table, std::optional<std::array<std::size_t, 2>> expected) {
  if (!table.at(0, 0).text.empty()) return false;
  const bool one_more_each_way =
      expected && table.rows.size() == (*expected)[0] + 1 && table.columns() == (*expected)[1] + 1;
  return one_more_each_way || has_text_in_margin(table);
}

bool runs_as_formula(char c) {
  return std::string_view("=+-@\t\r\n").find(c) != std::string_view::npos;
}

/// Whether a spreadsheet would take `label` for a formula, once the apostrophes that already guard
/// it are taken off.
bool needs_guard(std::string_view label) {
  const std::size_t start = label.find_first_not_of('\'');
  return start != std::string_view::npos && runs_as_formula(label[start]);
}

std::string label_of(const Field& field) {
  const bool guarded = field.text.starts_with('\'') && needs_guard(field.text);
  return std::string(field.text.substr(guarded ? 1 : 0));
}

/// No labels at all rather than nothing but empty ones.
std::vector<std::string> unless_all_empty(std::vector<std::string> labels) {
  const bool some = std::any_of(labels.begin(), labels.end(),
                                [](const std::string& label) { return !label.empty(); });
  return some ? labels : std::vector<std::string>{};
}

void read_labels(const Table& table, Written& written) {
  for (std::size_t i = 1; i < table.rows.size(); ++i) {
    written.row_labels.push_back(label_of(table.at(i, 0)));
  }
  for (std::size_t j = 1; j < table.columns(); ++j) {
    written.column_labels.push_back(label_of(table.at(0, j)));
  }
  written.row_labels = unless_all_empty(std::move(written.row_labels));
  written.column_labels = unless_all_empty(std::move(written.column_labels));
}

// ---------------------------------------------------------------- numbers

bool starts_like_a_word(std::string_view text) {
  return std::string_view("0123456789+-.,\"").find(text.front()) == std::string_view::npos;
}

/// Reads a table's cells and watches that all of them use the same decimal mark.
class CellReader {
 public:
  CellReader(const Table& table, const std::string& where) : table_(table), where_(where) {}

  Numeral read(std::size_t row, std::size_t column) {
    const Field& field = table_.at(row, column);
    const std::string_view text = trimmed(field.text);
    if (text.empty()) return {.value = std::nan("")};
    const DecimalMark mark = mark_of(text);
    const NumeralResult result = parse_numeral(text, mark);
    if (result.fault != NumeralFault::none) refuse(result.fault, text, row, column);
    if (mark == DecimalMark::comma) comma_seen_ = true;
    if (text.find('.') != std::string_view::npos) point_seen_ = true;
    if (comma_seen_ && point_seen_) refuse_mixed_marks(text, row, column);
    return result.numeral;
  }

 private:
  std::string place(std::size_t row, std::size_t column) const {
    return fmt::format("{}: row {}, column {}: ", where_, table_.rows[row].line, column + 1);
  }

  [[noreturn]] void refuse(NumeralFault fault, std::string_view text, std::size_t row,
                           std::size_t column) const {
    std::string message = place(row, column) + refusal(fault, text);
    if (fault == NumeralFault::not_a_number) message += ", or leave the cell empty";
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
                    mark_of(text) == DecimalMark::comma ? "comma" : "point",
                    mark_of(text) == DecimalMark::comma ? "point" : "comma"));
  }

  const Table& table_;
  const std::string& where_;
  bool comma_seen_ = false;
  bool point_seen_ = false;
};

Written read_table(const Table& table, const std::string& where, bool labelled) {
  const std::size_t margin = labelled ? 1 : 0;
  if (table.rows.size() == margin || table.columns() == margin) {
    throw InputError(where + ": there are labels but no numbers: write a number under each label");
  }
  Written written;
  written.shape = {table.rows.size() - margin, table.columns() - margin};
  written.cells.reserve(count_of(written.shape, where));
  CellReader reader(table, where);
  for (std::size_t i = margin; i < table.rows.size(); ++i) {
    for (std::size_t j = margin; j < table.columns(); ++j) {
      written.cells.push_back(reader.read(i, j));
    }
  }
  if (labelled) read_labels(table, written);
  return written;
}

/// A file of one column with decimal commas has the look of two columns of whole numbers; only the
/// size tells. Nothing where it is not such a file.
std::optional<Written> read_as_decimal_commas(const Table& table,
                                              std::array<std::size_t, 2> expected) {
  if (table.separator != ',' || table.columns() != 2 || expected[1] != 1 ||
      table.rows.size() != expected[0]) {
    return std::nullopt;
  }
  Written written;
  written.shape = {expected[0], 1};
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    if (table.at(i, 0).text.empty() || table.at(i, 1).text.empty()) return std::nullopt;
    const std::string whole = fmt::format("{},{}", table.at(i, 0).text, table.at(i, 1).text);
    const NumeralResult result = parse_numeral(whole, DecimalMark::comma);
    if (result.fault != NumeralFault::none) return std::nullopt;
    written.cells.push_back(result.numeral);
  }
  return written;
}

// ---------------------------------------------------------------- the fast lane

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

/// Reads a file of nothing but numbers and commas in one go; nothing where anything else occurs, or
/// where the first row and column might be labels. Whatever it leaves takes the careful way.
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

/// Whether a plain matrix has the size that makes its margin labels, or its decimals a column.
bool size_needs_care(const Shape& shape, std::array<std::size_t, 2> expected) {
  return (shape[0] == expected[0] + 1 && shape[1] == expected[1] + 1) ||
         (shape[1] == 2 && expected[1] == 1);
}

// ---------------------------------------------------------------- writing

/// Quotes where RFC 4180 asks for it, and where a reader might take a mark inside for a separator
/// or drop a blank at the ends.
std::string label_cell(std::string_view label) {
  std::string text(label);
  if (needs_guard(label)) text.insert(text.begin(), '\'');
  const bool has_marks = text.find_first_of(",;\t\"\r\n") != std::string::npos;
  const bool blank_at_an_end = text.starts_with(' ') || text.ends_with(' ');
  if (!has_marks && !blank_at_an_end) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

char* put(char* out, std::string_view text) { return std::copy(text.begin(), text.end(), out); }

char* put_zeros(char* out, int count) { return std::fill_n(out, count, '0'); }

/// The longest that put_shortest writes: -2.2250738585072014e-308 has 24 characters.
constexpr std::size_t longest_shortest = 24;

/// The shortest digits that read back to the same double, as fmt's "{}" writes them. That is what
/// most of an export's time goes into, so the usual sizes take a shorter way to the same text.
char* put_shortest(char* out, double value) {
  if (std::isnan(value)) return put(out, "nan");
  if (value == 0) return put(out, std::signbit(value) ? "-0.0" : "0");
  constexpr double smallest_usual = 1e-4;
  constexpr double largest_usual = 1e15;
  const double magnitude = std::abs(value);
  if (!(magnitude >= smallest_usual && magnitude < largest_usual)) {
    return fmt::format_to(out, FMT_COMPILE("{}"), value);
  }
  const auto decimal = fmt::detail::dragonbox::to_decimal(magnitude);
  const fmt::format_int digits(decimal.significand);
  const int size = static_cast<int>(digits.size());
  const int before_point = size + decimal.exponent;
  if (value < 0) *out++ = '-';
  if (decimal.exponent >= 0) {
    return put_zeros(std::copy_n(digits.data(), size, out), decimal.exponent);
  }
  if (before_point <= 0) {
    out = put_zeros(put(out, "0."), -before_point);
    return std::copy_n(digits.data(), size, out);
  }
  out = std::copy_n(digits.data(), before_point, out);
  *out++ = '.';
  return std::copy_n(digits.data() + before_point, size - before_point, out);
}

/// A minus before nothing but zeros says less than it seems to: it goes.
char* without_minus_zero(char* start, char* end) {
  const bool zero = std::all_of(start + 1, end, [](char c) { return c == '0' || c == '.'; });
  if (*start != '-' || !zero) return end;
  return std::copy(start + 1, end, start);
}

char* put_fixed(char* out, double value, int digits) {
  if (std::isnan(value)) return put(out, "nan");
  if (std::isinf(value)) return put(out, value < 0 ? "-inf" : "inf");
  return without_minus_zero(out, fmt::format_to(out, FMT_COMPILE("{:.{}f}"), value, digits));
}

/// How many characters a cell and the mark behind it take at most.
std::size_t widest_cell(const CsvOptions& options) {
  constexpr std::size_t widest_whole_part = 310;  // a sign and the 309 digits of the largest double
  if (!options.digits) return longest_shortest + 1;
  return widest_whole_part + 1 + static_cast<std::size_t>(*options.digits) + 1;
}

void refuse_misfits(const CsvMatrix& matrix, const CsvOptions& options) {
  const auto fits = [](const auto& labels, std::size_t size) {
    return labels.empty() || labels.size() == size;
  };
  if (matrix.values.size() != matrix.rows * matrix.columns ||
      !fits(matrix.row_labels, matrix.rows) || !fits(matrix.column_labels, matrix.columns)) {
    throw std::logic_error("to_csv: values or labels do not fit the size");
  }
  if (options.digits && *options.digits < 0) throw std::logic_error("to_csv: digits below 0");
}

void append_column_labels(std::string& text, const CsvMatrix& matrix) {
  for (std::size_t j = 0; j < matrix.columns; ++j) {
    text += ',';
    if (!matrix.column_labels.empty()) text += label_cell(matrix.column_labels[j]);
  }
  text += '\n';
}

/// Appends one row's cells. `room` is scratch space that holds at least the widest cell; it goes
/// into the text whenever it is too full for one more.
void append_cells(std::string& text, std::span<const double> cells, const CsvOptions& options,
                  std::span<char> room) {
  char* const start = room.data();
  char* const last_start = start + room.size() - widest_cell(options);
  char* out = start;
  for (const double value : cells) {
    if (out > last_start) {
      text.append(start, out);
      out = start;
    }
    if (options.blanks == CsvBlanks::as_nan || !std::isnan(value)) {
      out = options.digits ? put_fixed(out, value, *options.digits) : put_shortest(out, value);
    }
    *out++ = ',';
  }
  if (!cells.empty()) --out;
  *out++ = '\n';
  text.append(start, out);
}

}  // namespace

Written read_csv(std::string_view text, const std::string& where,
                 std::optional<std::array<std::size_t, 2>> expected) {
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  if (auto plain = read_plain_numbers(text, where)) {
    if (!expected || !size_needs_care(plain->shape, *expected)) return *std::move(plain);
  }
  refuse_broken_utf8(text, where);
  Table table = Splitter(text, where).split();
  settle_blank_rows(table, expected);
  refuse_empty_table(table, where);
  refuse_ragged_rows(table, where);
  const bool labelled = is_labelled(table, expected);
  if (expected && !labelled) {
    if (auto written = read_as_decimal_commas(table, *expected)) return *std::move(written);
  }
  return read_table(table, where, labelled);
}

std::string to_csv(const CsvMatrix& matrix, const CsvOptions& options) {
  refuse_misfits(matrix, options);
  const bool labelled = options.labels == CsvLabels::written &&
                        !(matrix.row_labels.empty() && matrix.column_labels.empty());
  constexpr std::size_t room_size = 1 << 14;
  std::vector<char> room(std::max(room_size, widest_cell(options)));
  std::string text;
  if (labelled) append_column_labels(text, matrix);
  for (std::size_t i = 0; i < matrix.rows; ++i) {
    if (labelled && !matrix.row_labels.empty()) text += label_cell(matrix.row_labels[i]);
    if (labelled) text += ',';
    append_cells(text, matrix.values.subspan(i * matrix.columns, matrix.columns), options, room);
    if (i == 0) text.reserve(text.size() * (matrix.rows + 1));  // rows are about equally long
  }
  return text;
}

}  // namespace qkv
