#include "formats/csv_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "formats/csv_headings.hpp"
#include "formats/numeral.hpp"
#include "text/error.hpp"
#include "text/utf8.hpp"

namespace qkv::csv {
namespace {

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

bool is_empty(const Table& table, const Row& row) {
  const auto first = table.fields.begin() + static_cast<std::ptrdiff_t>(row.first);
  return std::all_of(first, first + static_cast<std::ptrdiff_t>(row.size),
                     [](const Field& field) { return field.text.empty() && !field.quoted; });
}

// The margin of labels that a table seems to have: its first cell is empty, the row is not.
std::size_t margin_of(const Table& table) {
  const auto row = std::find_if_not(table.rows.begin(), table.rows.end(),
                                    [&](const Row& one) { return is_empty(table, one); });
  return row != table.rows.end() && table.fields[row->first].text.empty() ? 1 : 0;
}

bool is_blank_field(const Field& field) { return field.text.empty() && !field.quoted; }

// Spreadsheets save rows and columns in which nothing stands around those that count. They go where
// exactly the expected matrix is left; a matrix of another size, or on its side, stays as it is.
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
    while (row.size > columns && is_blank_field(table.fields[row.first + row.size - 1])) --row.size;
  }
  const bool fits =
      kept.size() == rows &&
      std::all_of(kept.begin(), kept.end(), [&](const Row& row) { return row.size == columns; });
  if (fits) table.rows = std::move(kept);
}

void refuse_empty_table(const Table& table, const std::string& where) {
  const bool something = std::any_of(table.fields.begin(), table.fields.end(),
                                     [](const Field& f) { return !f.text.empty() || f.quoted; });
  if (something || table.columns() > 1) return;
  throw InputError(where +
                   ": the file is empty: write one row of numbers a line, such as 0.5,0.25");
}

// Numbers with decimal commas between commas: of whole numbers a row has fewer cells, of others
// more, up to two for each.
bool may_be_decimal_commas(const Table& table, std::optional<std::array<std::size_t, 2>> expected) {
  return table.separator == ',' && expected && std::ranges::all_of(table.rows, [&](const Row& row) {
           return row.size >= (*expected)[1] && row.size <= 2 * (*expected)[1];
         });
}

void refuse_ragged_rows(const Table& table, std::optional<std::array<std::size_t, 2>> expected,
                        const std::string& where) {
  const auto cells = [](std::size_t count) {
    return fmt::format("{} cell{}", count, count == 1 ? "" : "s");
  };
  for (const Row& row : table.rows) {
    if (row.size == table.columns()) continue;
    throw InputError(fmt::format(
        "{}: row {} has {}, row {} has {}: give every row {}, an empty "
        "one for a blank{}",
        where, row.line, cells(row.size), table.rows.front().line, cells(table.columns()),
        cells(table.columns()), may_be_decimal_commas(table, expected) ? decimal_commas_hint : ""));
  }
}

}  // namespace

Table split(std::string_view text, const std::string& where) {
  refuse_broken_utf8(text, where);
  return Splitter(text, where).split();
}

void settle_rows(Table& table, std::optional<std::array<std::size_t, 2>> expected,
                 std::size_t stacked, const std::string& where) {
  settle_blank_rows(table, expected);
  if (expected) {
    drop_surplus(table, *expected);
    settle_headings(table, *expected, stacked);
    drop_surplus(table, *expected);
  }
  refuse_empty_table(table, where);
  refuse_ragged_rows(table, expected, where);
}

}  // namespace qkv::csv
