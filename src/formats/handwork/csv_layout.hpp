#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace qkv::csv {

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

}  // namespace qkv::csv
