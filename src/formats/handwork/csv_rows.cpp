#include "formats/handwork/csv_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "formats/handwork/csv_headings.hpp"
#include "text/error.hpp"

namespace qkv::csv {
namespace {

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
