#pragma once

#include <deque>

#include "formats/format.hpp"

namespace qkv::inline formats {

/// Reads a matrix in CSV. Separators are commas, semicolons, tabs or, if none of these occurs,
/// blanks; decimals have points or commas; quotes follow RFC 4180; an empty cell is blank.
/// The first row and column are labels if the first cell is empty and another of their cells is not
/// a number. They are labels, too, if the size exceeds `expected` (rows, columns) by one both ways,
/// or has another size and they count from 1. Labels that are other numbers need quotes. Throws
/// InputError (prefix `where`) with row and column; a row is its line in the file.
/// With `wanted` also heading lines, row names, tables ruled with |, stacked matrices, and cells
/// that are not numbers are read.
ParsedArray read_csv(std::string_view text, const std::string& where,
                     const ReadOptions& wanted = {});

struct CsvMatrix {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::span<const double> values;               ///< row-major, rows × columns
  std::vector<std::string_view> row_labels;     ///< empty, or one for each row
  std::vector<std::string_view> column_labels;  ///< empty, or one for each column
};

enum class CsvLabels { written, left_out };

struct CsvOptions {
  CsvLabels labels = CsvLabels::written;
  /// Decimals; if unset, the shortest digits that read back to the same double.
  std::optional<int> digits = {};
  /// Returns the text of a cell, by its index, in place of its number.
  std::function<std::string(std::size_t)> text = {};
};

/// Returns the matrix as CSV: an empty cell and the column labels, then each row after its label.
/// Without labels, numbers only. Infinity is inf, a blank is nan.
std::string to_csv(const CsvMatrix& matrix, const CsvOptions& options = {});

/// The same, written to `sink` in pieces, for large matrices.
void write_csv(const CsvMatrix& matrix, const CsvOptions& options, const Sink& sink);

namespace csv {

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
  std::deque<std::string> unquoted;  ///< texts of fields with "" or \; a deque never moves them
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

/// Escapes a label for a cell. It is quoted as in RFC 4180, and if it holds another separator or
/// ends in a blank. An apostrophe goes before what a spreadsheet would run as a formula: `=1+1` is
/// written `'=1+1`.
std::string label_cell(std::string_view label);

/// Returns the label in a cell, without the protecting apostrophe.
std::string label_of(std::string_view cell);

}  // namespace csv

/// Reads a matrix as NumPy, PyTorch, Python, MATLAB or Octave print it, or bare rows or CSV;
/// brackets nest to any rank. `expected` (rows, columns) matters to CSV only: see read_csv. Throws
/// InputError (prefix `where`) with the line, also for output shortened with "...". Example:
/// `read_printed_text("tensor([[1., 2.]])", "X")` → shape {1, 2}.
ParsedArray read_printed_text(std::string_view text, const std::string& where,
                              const ReadOptions& wanted = {});

/// True if a text has a line of a tensor as llama-eval-callback prints it.
bool is_eval_callback(std::string_view text);

/// Reads what llama-eval-callback prints of a graph's tensors: the first and the last 3 numbers of
/// each axis, and their sum. Views are left out; of several tensors of a name the last is kept, and
/// the one before a rotation as "NAME before ROPE", also if the rotation is not in the text. Throws
/// InputError, with the line, if a tensor is cut off or its numbers do not fit its shape or its
/// sum.
std::vector<NamedArray> read_eval_callback(std::string_view text, const std::string& where);

}  // namespace qkv::inline formats
