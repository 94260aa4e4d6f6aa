#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace qkv::inline formats {

namespace csv {

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
  std::vector<Field> names;      ///< that stood over plain rows
  bool row_labels_only = false;  ///< rows begin with names, and no names stand over them

  std::size_t columns() const { return rows.empty() ? 0 : rows.front().size; }
  const Field& at(std::size_t row, std::size_t column) const {
    return fields[rows[row].first + column];
  }
};

/// Takes a text apart by the separator that parts its lines alike: comma, semicolon, tab or, where
/// none of these occurs, blanks. `where` opens every message; the fields point into `text`. Throws
/// InputError for a byte that is no UTF-8, and for quotes that are not closed or closed too soon.
Table split(std::string_view text, const std::string& where);

/// Whether a cell is neither blank nor a number.
bool is_text(const Field& field);

/// The text of a table that is ruled with |, as Markdown and people write it ("the | -0.5 -0.5"),
/// with tabs between its cells and its lines where they were; nothing where it is none.
std::optional<std::string> strip_ruled_lines(std::string_view text);

/// Takes lines that are no rows out of a table of `stacked` matrices of the `expected` size: a
/// title over them all or over each, and names over plain rows, which become labels. Rows that
/// begin with a name and have no names over them are marked so.
void normalise_headings(Table& table, std::array<std::size_t, 2> expected, std::size_t stacked);

/// What to do where commas are decimal marks and part the cells, too.
inline constexpr std::string_view decimal_commas_hint =
    "; if the commas are decimal commas, write points, or ; between the numbers";

/// Drops the rows that are no cells, blank ones and headings, and makes sure that the others are
/// there and equally long; `expected` is the size of the matrix, of which `stacked` may stand one
/// below the other. Throws InputError.
void normalise_table_rows(Table& table, std::optional<std::array<std::size_t, 2>> expected,
                          std::size_t stacked, const std::string& where);

/// A label as a cell: in quotes where RFC 4180 asks for it, and where a reader might take a mark
/// inside for a separator or drop a blank at the ends; after an apostrophe where a spreadsheet
/// would run it as a formula. Example: `=1+1` is written `'=1+1`.
std::string label_cell(std::string_view label);

/// The label in a cell, without the apostrophe that guards it.
std::string label_of(std::string_view cell);

}  // namespace csv

}  // namespace qkv::inline formats
