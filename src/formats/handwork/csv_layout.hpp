#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace qkv::inline formats::csv {

struct Field {
  std::string_view text;  ///< without quotes; trimmed unless it was quoted
  bool quoted = false;
};

struct Row {
  std::size_t line = 0;   ///< in the file, from 1
  std::size_t first = 0;  ///< index of its first field in Table::fields
  std::size_t size = 0;
};

/// A CSV file split into fields, all still text.
struct Table {
  std::vector<Field> fields;
  std::vector<Row> rows;
  std::deque<std::string> unquoted;  ///< texts of fields with ""; a deque never moves them
  char separator = ',';
  std::vector<Field> names;      ///< column names over rows without row names
  bool row_labels_only = false;  ///< rows begin with names, without column names over them

  std::size_t columns() const { return rows.empty() ? 0 : rows.front().size; }
  const Field& at(std::size_t row, std::size_t column) const {
    return fields[rows[row].first + column];
  }
};

/// Splits a text by the separator that divides its lines consistently: comma, semicolon, tab or, if
/// none of these occurs, blanks. The fields refer to `text`. Throws InputError (prefix `where`) for
/// invalid UTF-8, for quotes that are not closed or closed too soon, and for more than `most`
/// numbers.
Table split(std::string_view text, const std::string& where, std::size_t most);

/// True if the cell is neither blank nor a number.
bool is_text(const Field& field);

/// Converts a table ruled with |, as in Markdown ("the | -0.5 -0.5"), to tab-separated lines,
/// keeping line numbers; nothing if the text is not such a table.
std::optional<std::string> strip_ruled_lines(std::string_view text);

/// The remedy if commas are both decimal marks and separators.
inline constexpr std::string_view decimal_commas_hint =
    "; if the commas are decimal commas, write points, or ; between the numbers";

/// Removes blank rows and headings, then checks that rows exist and have equal length. `expected`
/// is the size of one matrix, of which `stacked` may stand one below the other. Throws InputError.
void normalise_table_rows(Table& table, std::optional<std::array<std::size_t, 2>> expected,
                          std::size_t stacked, const std::string& where);

/// Escapes a label for a cell. It is quoted as in RFC 4180, and if it holds another separator or
/// ends in a blank. An apostrophe goes before what a spreadsheet would run as a formula: `=1+1` is
/// written `'=1+1`.
std::string label_cell(std::string_view label);

/// Returns the label in a cell, without the protecting apostrophe.
std::string label_of(std::string_view cell);

}  // namespace qkv::inline formats::csv
