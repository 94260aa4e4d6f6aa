#include "formats/handwork/csv_headings.hpp"

#include <algorithm>

#include "formats/handwork/cell.hpp"
#include "text/strings.hpp"

namespace qkv::csv {
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

// 0, 1, 2 or 1, 2, 3: what programs write over columns that have no names.
bool counts_up(std::span<const Field> fields) {
  for (const double first : {0.0, 1.0}) {
    double next = first;
    const bool all = std::ranges::all_of(fields, [&](const Field& field) {
      const NumeralResult result = parse_numeral(trimmed(field.text));
      return result.fault == NumeralFault::none && result.numeral.value == next++;
    });
    if (all) return true;
  }
  return false;
}

bool are_alike(std::span<const Field> a, std::span<const Field> b) {
  return std::ranges::equal(a, b, {}, &Field::text, &Field::text);
}

// Names over the columns, and just the expected rows below: what begins a row is its name.
bool is_labelled(const Table& table, std::size_t rows, std::size_t stacked) {
  const bool names_columns = is_blank(fields_of(table, table.rows.front()).front());
  return names_columns && (table.rows.size() == rows + 1 || table.rows.size() == rows + stacked);
}

// Titles go where just the expected rows are left, or as many and a row of names for each matrix.
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

// Whether every row but the first has a number, or a blank, under each of so many names; blanks
// that a spreadsheet put behind them don't count.
bool fit_under_names(const Table& table, std::size_t columns) {
  return std::ranges::all_of(std::span(table.rows).subspan(1), [&](const Row& row) {
    return begins_with_name(table, row, columns) ||
           (row.size >= columns &&
            std::ranges::all_of(fields_of(table, row).subspan(columns), is_blank));
  });
}

// The same names, or numbers of columns, over each of several matrices: the first are enough.
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

}  // namespace

bool is_text(const Field& field) {
  const std::string_view text = trimmed(field.text);
  return !text.empty() && parse_cell(text, mark_of(text)).fault == NumeralFault::not_a_number;
}

std::optional<std::string> without_rules(std::string_view text) {
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

void settle_headings(Table& table, std::array<std::size_t, 2> expected, std::size_t stacked) {
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

}  // namespace qkv::csv
