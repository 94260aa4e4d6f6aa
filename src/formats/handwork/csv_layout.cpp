#include "formats/handwork/csv_layout.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "formats/handwork/numeral.hpp"
#include "text/error.hpp"
#include "text/strings.hpp"
#include "text/unicode.hpp"

namespace qkv::inline formats::csv {
namespace {

bool is_blank(const Field& field) { return trimmed(field.text).empty(); }

std::span<const Field> fields_of(const Table& table, const Row& row) {
  return std::span(table.fields).subspan(row.first, row.size);
}

// "Scores" or "head 2:", alone on its line.
bool is_title(const Table& table, const Row& row) {
  const auto fields = fields_of(table, row);
  return is_text(fields.front()) && std::ranges::all_of(fields.subspan(1), is_blank);
}

bool is_all_text(std::span<const Field> fields) {
  return !fields.empty() && std::ranges::all_of(fields, is_text);
}

// 0, 1, 2 or 1, 2, 3: programs write these over unnamed columns.
bool counts_up(std::span<const Field> fields) {
  for (const double first : {0.0, 1.0}) {
    double next = first;
    const bool all = std::ranges::all_of(fields, [&](const Field& field) {
      const NumeralResult result = parse_numeral(trimmed(field.text));
      return result.fault == NumeralError::none && result.numeral.value == next++;
    });
    if (all) return true;
  }
  return false;
}

bool are_alike(std::span<const Field> a, std::span<const Field> b) {
  return std::ranges::equal(a, b, {}, &Field::text, &Field::text);
}

// Column names, and exactly the expected rows below: rows begin with their names.
bool is_labelled(const Table& table, std::size_t rows, std::size_t stacked) {
  const bool names_columns = is_blank(fields_of(table, table.rows.front()).front());
  return names_columns && (table.rows.size() == rows + 1 || table.rows.size() == rows + stacked);
}

// Drops titles if that leaves exactly the expected rows, or these and a row of names per matrix.
void drop_titles(Table& table, std::array<std::size_t, 2> expected, std::size_t stacked) {
  std::vector<Row> kept;
  for (const Row& row : table.rows) {
    if (!is_title(table, row)) kept.push_back(row);
  }
  const std::size_t rows = expected[0] * stacked;
  const bool fits = kept.size() == rows || kept.size() == rows + 1 || kept.size() == rows + stacked;
  const bool some_title_is_short =
      expected[1] > 1 || kept.size() == rows;  // a title of one column might be a cell
  if (fits && some_title_is_short) table.rows = std::move(kept);
}

// "the,0.5,0.25" for a row of two numbers.
bool begins_with_name(const Table& table, const Row& row, std::size_t columns) {
  return row.size == columns + 1 && is_text(table.fields[row.first]);
}

// True if every row but the first has a number or blank under each of so many names.
bool fit_under_names(const Table& table, std::size_t columns) {
  return std::ranges::all_of(std::span(table.rows).subspan(1), [&](const Row& row) {
    return begins_with_name(table, row, columns) ||
           (row.size >= columns &&
            std::ranges::all_of(fields_of(table, row).subspan(columns), is_blank));
  });
}

// Each matrix repeats the same names or column numbers: the first are enough.
void drop_repeated_names(Table& table, std::size_t rows, std::size_t stacked) {
  if (stacked == 1 || table.rows.size() != rows + stacked) return;
  const auto first = fields_of(table, table.rows.front());
  const bool has_corner = first.size() > 1 && is_blank(first.front());
  const auto names = has_corner ? first.subspan(1) : first;
  const auto repeats = [&](const Row& row) { return are_alike(fields_of(table, row), first); };
  const auto times = static_cast<std::size_t>(std::ranges::count_if(table.rows, repeats));
  const bool are_names = is_all_text(names) || (has_corner && counts_up(names));
  if (!are_names || times != stacked) return;
  table.rows.erase(std::remove_if(table.rows.begin() + 1, table.rows.end(), repeats),
                   table.rows.end());
}

// Removes titles and column names from a table of `stacked` matrices of size `expected`. Titles may
// stand over all matrices or over each. Column names become labels; rows that begin with a name,
// without column names, are flagged.
void normalise_headings(Table& table, std::array<std::size_t, 2> expected, std::size_t stacked) {
  const std::size_t rows = expected[0] * stacked;
  if (table.rows.empty() || rows == 0) return;
  if (table.rows.size() > rows && !is_labelled(table, rows, stacked)) {
    drop_titles(table, expected, stacked);
  }
  drop_repeated_names(table, rows, stacked);
  const auto first = fields_of(table, table.rows.front());
  const bool begins_with_names = table.rows.size() == rows + 1 && first.size() == expected[1] &&
                                 (is_all_text(first) || (first.size() > 1 && counts_up(first))) &&
                                 fit_under_names(table, expected[1]);
  if (begins_with_names) {
    table.names.assign(first.begin(), first.end());
    table.rows.erase(table.rows.begin());
  }
  table.row_labels_only =
      table.rows.size() == rows && std::ranges::all_of(table.rows, [&](const Row& row) {
        return begins_with_name(table, row, expected[1]);
      });
}
bool is_empty_field(const Field& field) { return field.text.empty() && !field.quoted; }

bool is_empty(const Table& table, const Row& row) {
  return std::ranges::all_of(fields_of(table, row), is_empty_field);
}

/// In a file of one column an empty line may be a blank cell. The expected number of rows decides;
/// without it, only lines between two numbers are cells.
void resolve_blank_rows(Table& table, std::optional<std::array<std::size_t, 2>> expected) {
  const auto is_blank = [&](const Row& row) { return row.size == 1 && is_empty(table, row); };
  const auto blank_rows = static_cast<std::size_t>(std::ranges::count_if(table.rows, is_blank));
  if (blank_rows == 0) return;
  const bool one_column =
      std::ranges::all_of(table.rows, [](const Row& row) { return row.size == 1; });
  const auto [rows, columns] = expected.value_or(std::array<std::size_t, 2>{});
  const std::size_t rows_wanted = rows == 1 ? columns : rows;  // a single row may stand upright
  if (!one_column || table.rows.size() - blank_rows == rows_wanted) {
    std::erase_if(table.rows, is_blank);
    return;
  }
  while (table.rows.size() > rows_wanted && is_blank(table.rows.back())) table.rows.pop_back();
  if (table.rows.size() == rows_wanted) return;
  table.rows.erase(table.rows.begin(),
                   std::find_if_not(table.rows.begin(), table.rows.end(), is_blank));
}

// The apparent margin of labels: the first cell is empty, the row is not.
std::size_t margin_of(const Table& table) {
  const auto row = std::find_if_not(table.rows.begin(), table.rows.end(),
                                    [&](const Row& one) { return is_empty(table, one); });
  return row != table.rows.end() && table.fields[row->first].text.empty() ? 1 : 0;
}

// Spreadsheets save empty rows and columns around the data. They are dropped if exactly the
// expected matrix remains; matrices of another size, or transposed, stay unchanged.
void drop_surplus(Table& table, std::array<std::size_t, 2> expected) {
  const std::size_t margin = margin_of(table);
  const std::size_t rows = expected[0] + margin;
  const std::size_t columns = expected[1] + (table.row_labels_only ? 1 : margin);
  std::vector<Row> kept = table.rows;
  while (kept.size() > rows && is_empty(table, kept.back())) kept.pop_back();
  auto first = kept.begin();
  while (kept.end() - first > static_cast<std::ptrdiff_t>(rows) && is_empty(table, *first)) ++first;
  kept.erase(kept.begin(), first);
  for (Row& row : kept) {
    while (row.size > columns && is_empty_field(table.fields[row.first + row.size - 1])) --row.size;
  }
  const bool fits = kept.size() == rows &&
                    std::ranges::all_of(kept, [&](const Row& row) { return row.size == columns; });
  if (fits) table.rows = std::move(kept);
}

void refuse_empty_table(const Table& table, const std::string& where) {
  if (table.columns() > 1 || !std::ranges::all_of(table.fields, is_empty_field)) return;
  throw InputError(where +
                   ": the file is empty: write one row of numbers a line, such as 0.5,0.25");
}

// True if commas may be both decimal marks and separators: up to two cells for each number.
bool may_be_decimal_commas(const Table& table, std::optional<std::array<std::size_t, 2>> expected) {
  return table.separator == ',' && expected && std::ranges::all_of(table.rows, [&](const Row& row) {
           return row.size >= (*expected)[1] && row.size <= 2 * (*expected)[1];
         });
}

void refuse_ragged_rows(const Table& table, std::optional<std::array<std::size_t, 2>> expected,
                        const std::string& where) {
  const auto cells = [](std::size_t count) { return pluralise(count, "cell"); };
  for (const Row& row : table.rows) {
    if (row.size == table.columns()) continue;
    throw InputError(fmt::format(
        "{}: row {} has {}, row {} has {}: give every row {}, an empty one for a blank{}", where,
        row.line, cells(row.size), table.rows.front().line, cells(table.columns()),
        cells(table.columns()), may_be_decimal_commas(table, expected) ? decimal_commas_hint : ""));
  }
}

using namespace std::string_view_literals;

// Characters that begin a formula, and the full-width forms that some spreadsheets accept.
constexpr std::array starts = {"="sv,  "+"sv,  "-"sv,  "@"sv,  "\t"sv, "\r"sv,
                               "\n"sv, "＝"sv, "＋"sv, "－"sv, "＠"sv};

// Blanks and invisible characters (controls, directional marks), which spreadsheets may skip.
bool is_skipped(CodePoint code) {
  return code != bad_byte && (is_invisible(code) || category_group(code) == 'Z');
}

bool starts_formula(std::string_view text) {
  return std::any_of(starts.begin(), starts.end(),
                     [&](std::string_view start) { return text.starts_with(start); });
}

/// True if a spreadsheet might run `label` as a formula, ignoring existing apostrophes before it.
bool needs_guard(std::string_view label) {
  label.remove_prefix(std::min(label.find_first_not_of('\''), label.size()));
  while (!label.empty() && !starts_formula(label)) {
    const DecodedCodePoint first = decode_code_point(label, 0);
    if (!is_skipped(first.code)) return false;
    label.remove_prefix(first.bytes);
  }
  return !label.empty();
}

constexpr char blanks = ' ';                     // the separator if no other occurs
constexpr std::string_view separators = "\t;,";  // the most likely first

// ---------------------------------------------------------------- separator

/// How often a separator occurs in the lines of a file.
struct SeparatorCount {
  std::size_t in_first_line = 0;
  std::size_t in_this_line = 0;
  std::size_t line_count = 0;
  bool even = true;  ///< as often in every line as in the first
};

using SeparatorCounts = std::array<SeparatorCount, separators.size()>;

void close_line(SeparatorCounts& separator_counts, bool first_line) {
  for (SeparatorCount& separator_count : separator_counts) {
    if (first_line) separator_count.in_first_line = separator_count.in_this_line;
    separator_count.even =
        separator_count.even && separator_count.in_this_line == separator_count.in_first_line;
    separator_count.line_count += separator_count.in_this_line > 0 ? 1 : 0;
    separator_count.in_this_line = 0;
  }
}

/// Counts separators outside quotes. The beginning of a long file is representative.
SeparatorCounts count_separators(std::string_view text) {
  constexpr std::size_t enough = 1 << 16;
  SeparatorCounts separator_counts;
  bool quoted = false;
  bool blank_line = true;
  bool first_line = true;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') quoted = !quoted;
    if (!quoted && (c == '\n' || c == '\r')) {
      if (!blank_line) close_line(separator_counts, first_line);
      first_line = first_line && blank_line;
      blank_line = true;
      if (i > enough) return separator_counts;
      continue;
    }
    if (c != ' ') blank_line = false;
    const std::size_t kind = separators.find(c);
    if (!quoted && kind != std::string_view::npos) ++separator_counts[kind].in_this_line;
  }
  if (!blank_line) close_line(separator_counts, first_line);
  return separator_counts;
}

/// The separator with equal counts in every line; else the one in most lines.
char separator_of(std::string_view text) {
  const SeparatorCounts separator_counts = count_separators(text);
  for (std::size_t kind = 0; kind < separators.size(); ++kind) {
    if (separator_counts[kind].even && separator_counts[kind].in_first_line > 0)
      return separators[kind];
  }
  const auto most = std::max_element(
      separator_counts.begin(), separator_counts.end(),
      [](const SeparatorCount& a, const SeparatorCount& b) { return a.line_count < b.line_count; });
  if (most->line_count == 0) return blanks;
  return separators[static_cast<std::size_t>(most - separator_counts.begin())];
}

// ---------------------------------------------------------------- text → table of fields

class Splitter {
 public:
  Splitter(std::string_view text, const std::string& where, std::size_t most)
      : text_(text), where_(where), most_(most) {
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

  /// Splits a line at blanks; "#" begins a comment, as NumPy writes it.
  void split_line() {
    Row row{.line = line_, .first = table_.fields.size()};
    const std::size_t end = std::min(text_.find_first_of("\r\n", pos_), text_.size());
    const bool comment = text_[pos_] == '#';
    for (skip_spaces(); !comment && pos_ < end; skip_spaces()) {
      const std::size_t stop = std::min(text_.substr(0, end).find(' ', pos_), end);
      add_field({.text = text_.substr(pos_, stop - pos_)});
      pos_ = stop;
    }
    pos_ = end;
    row.size = table_.fields.size() - row.first;
    if (row.size == 0 && !comment) row.size = add_field({});
    if (row.size > 0) table_.rows.push_back(row);
    skip_line_end();
  }

  std::size_t add_field(Field field) {
    constexpr std::string_view first_of_number = "0123456789+-.";
    const bool is_number = !field.text.empty() && first_of_number.find(field.text[0]) != text_.npos;
    if (is_number && ++numbers_ > most_) refuse_surplus(where_, most_);
    table_.fields.push_back(field);
    return 1;
  }

  void split_row() {
    Row row{.line = line_, .first = table_.fields.size()};
    for (;;) {
      add_field(next_field());
      if (at_line_end()) break;
      ++pos_;
    }
    row.size = table_.fields.size() - row.first;
    table_.rows.push_back(row);
    skip_line_end();
    // Rows are about equally long; the first one, with labels, is often shorter.
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
  std::size_t most_;         ///< numbers that are read
  std::size_t numbers_ = 0;  ///< so far, by their first characters
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
          fmt::format("{}: line {}: byte 0x{:02x} is not UTF-8 text: save the file as UTF-8", where,
                      line, static_cast<unsigned char>(text[i])));
    }
    if (text[i] == '\n') ++line;
    i += length;
  }
}

}  // namespace

bool is_text(const Field& field) {
  const std::string_view text = trimmed(field.text);
  return !text.empty() &&
         parse_cell(text, decimal_mark_of(text)).fault == NumeralError::not_a_number;
}

std::optional<std::string> strip_ruled_lines(std::string_view text) {
  std::size_t lines = 0;
  std::size_t ruled = 0;
  std::string result;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    const bool rule = line.find("--") != std::string_view::npos &&
                      line.find_first_not_of("|+-:= \t") == std::string_view::npos;
    if (!rule && !line.empty()) {
      ++lines;
      ruled += line.find('|') != std::string_view::npos ? 1 : 0;
      const bool framed = line.size() > 1 && line.starts_with('|') && line.ends_with('|');
      if (framed) line = line.substr(1, line.size() - 2);
      const auto bars = std::ranges::count(line, '|');
      const bool blanks_part = bars == 1 && !framed;  // "the | -0.5 -0.5"
      bool in_label = true;
      for (const char c : line) {
        const bool bar = c == '|';
        const bool parts = bar || (blanks_part && !in_label && c == ' ' && result.back() != '\t');
        if (bar) in_label = false;
        if (bar || parts) {
          result += '\t';
        } else if (in_label || !blanks_part || c != ' ') {
          result += c;
        }
      }
      while (result.ends_with(' ')) result.pop_back();
    }
    result += '\n';
  }
  if (lines == 0 || 2 * ruled <= lines) return {};
  return result;
}

void normalise_table_rows(Table& table, std::optional<std::array<std::size_t, 2>> expected,
                          std::size_t stacked, const std::string& where) {
  resolve_blank_rows(table, expected);
  if (expected) {
    drop_surplus(table, *expected);
    normalise_headings(table, *expected, stacked);
    drop_surplus(table, *expected);
  }
  refuse_empty_table(table, where);
  refuse_ragged_rows(table, expected, where);
}
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

std::string label_of(std::string_view cell) {
  const bool guarded = cell.starts_with('\'') && needs_guard(cell);
  return std::string(cell.substr(guarded ? 1 : 0));
}
Table split(std::string_view text, const std::string& where, std::size_t most) {
  refuse_broken_utf8(text, where);
  return Splitter(text, where, most).split();
}
}  // namespace qkv::inline formats::csv
