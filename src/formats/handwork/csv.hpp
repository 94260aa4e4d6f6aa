#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/io.hpp"
#include "formats/parsed_array.hpp"

namespace qkv::inline formats {

/// The matrix in a CSV text: cells parted by commas, semicolons, tabs or, where none of these
/// occurs, blanks; decimal points or commas; quotes as in RFC 4180; an empty cell or nan is blank.
/// The first row and column are labels if the first cell is empty and another cell of them is no
/// number, or the size is the `expected` one (rows, columns) plus one each way; where it is not the
/// expected one either, also if they count from 1 (labels that are other numbers: in quotes).
/// `where` opens every message. Throws InputError with row and column; a row is the line of the
/// file it is on.
ParsedArray read_csv(std::string_view text, const std::string& where,
                     std::optional<std::array<std::size_t, 2>> expected = {});

/// The same for one who knows more of what the file should be: heading lines over plain rows, rows
/// that only begin with names, tables ruled with |, several matrices one below the other, and cells
/// that are no numbers, where those are to be kept.
ParsedArray read_csv_with(std::string_view text, const std::string& where,
                          const ReadOptions& wanted);

/// A matrix to be written as CSV.
struct CsvMatrix {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::span<const double> values;               ///< row-major, rows × columns
  std::vector<std::string_view> row_labels;     ///< none, or one for each row
  std::vector<std::string_view> column_labels;  ///< none, or one for each column
};

enum class CsvLabels { written, left_out };

/// How a blank, NaN, is written.
enum class CsvBlanks { as_nan, as_empty_cells };

struct CsvOptions {
  CsvLabels labels = CsvLabels::written;
  /// How many decimals to write; without it, the shortest digits that read back to the same double.
  std::optional<int> digits = {};
  CsvBlanks blanks = CsvBlanks::as_nan;
};

/// The matrix as CSV: an empty cell and the column labels, then each row after its label; numbers
/// only where there are no labels or they are left out. Infinity is inf, a blank is nan.
/// Throws std::logic_error where the sizes do not fit.
std::string to_csv(const CsvMatrix& matrix, const CsvOptions& options = {});

/// The same, handed to the sink in pieces, for a matrix whose text is large.
void write_csv(const CsvMatrix& matrix, const CsvOptions& options, const Sink& sink);

namespace csv {

/// Reads a file of nothing but numbers and commas in one go, many times as fast as the careful way;
/// nothing where anything else occurs, or where the first row and column might be labels.
std::optional<ParsedArray> read_plain_numbers(std::string_view text, const std::string& where);

/// The same where nobody asks how many digits each number had; nothing where one is nan, either.
std::optional<Tensor> read_plain_matrix(std::string_view text, const std::string& where);

}  // namespace csv

}  // namespace qkv::inline formats
