#pragma once

#include <cstddef>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/huge_pages.hpp"

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

/// Rows of fields, all still text.
struct Table {
  std::vector<Field, HugePages<Field>> fields;
  std::vector<Row> rows;
  std::deque<std::string> unquoted;  ///< texts of fields with ""; a deque never moves them
  char separator = ',';

  std::span<const Field> of(const Row& row) const {
    return std::span(fields).subspan(row.first, row.size);
  }
};

enum class Bars { separate, are_text };

/// Splits a text by the separator that divides its lines consistently: comma, semicolon, tab or, if
/// none of these occurs, blanks. A table ruled with |, as in Markdown ("the | -0.5 -0.5"), is split
/// at its bars, if these separate. The fields refer to `text`. Throws InputError (prefix `where`)
/// for invalid UTF-8, for quotes that are not closed or closed too soon, and for more than `most`
/// numbers.
Table split(std::string_view text, const std::string& where, std::size_t most, Bars bars);

}  // namespace qkv::inline formats::csv
