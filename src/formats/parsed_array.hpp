#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tensor/huge_pages.hpp"
#include "tensor/tensor.hpp"

namespace qkv::inline formats {

/// A parsed number: its value, and how many digits were written.
struct Numeral {
  double value = 0;  ///< NaN if the cell is blank
  /// The decimal place of the last digit written: 0.25 → 2, 12 → 0, 1.20e-3 → 5, 3e+02 → -2.
  std::int16_t decimals = 0;
  bool scientific = false;  ///< written with an exponent
  /// A fraction, root or percentage: the value is exact, whatever `decimals` says.
  bool exact = false;
  /// Index, from 1, of a bad cell's text in ParsedArray::bad_texts; the value is NaN then. 0: the
  /// cell was read, or is blank.
  std::uint16_t bad_text = 0;
  /// A NaN that a program computed, not a blank.
  bool computed = false;
  bool left_out = false;  ///< blank on purpose: a dash, or a cell of a head without a file

  bool is_blank() const { return std::isnan(value) && bad_text == 0 && !computed; }
};

using Numerals = std::vector<Numeral, HugePages<Numeral>>;

/// What a program printed of an array: the cells at these places of its axes.
struct PrintedPart {
  std::vector<std::vector<std::size_t>> places = {};  ///< of each axis
  Numerals cells = {};                                ///< row-major
  std::optional<double> sum = {};                     ///< of all cells, if it is known
};

/// The precision of a file's numbers: printed digits, or a binary type.
enum class Precision { digits, float16, bfloat16, float32, float64 };

/// A parsed array: numbers with their digits, and labels.
struct ParsedArray {
  Shape shape = {};                             ///< any rank, at least 1
  Numerals cells = {};                          ///< row-major; none if they are too many to be read
  Values values = {};                           ///< of `cells`, if a tensor has them in this order
  std::vector<std::string> row_labels = {};     ///< empty, or one for each row (rank 2 only)
  std::vector<std::string> column_labels = {};  ///< empty, or one for each column (rank 2 only)
  Precision precision = Precision::digits;
  std::vector<std::string> bad_texts = {};  ///< the texts of cells that are not numbers
  std::optional<PrintedPart> part = {};     ///< then `cells` is empty, and `shape` of all
  std::string remark = {};                  ///< message for the user: how the file was interpreted
};

/// One matrix of a file that may hold several.
struct NamedArray {
  std::string name;  ///< empty if the file has no names
  ParsedArray written;
};

}  // namespace qkv::inline formats
