#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "tensor/huge_pages.hpp"
#include "tensor/tensor.hpp"

namespace qkv::inline formats {

/// A number as it was written: what it is worth and how far its digits go.
struct Numeral {
  double value = 0;  ///< NaN where the cell is blank
  /// The place of the last digit written, counted behind the point: 0.25 → 2, 12 → 0,
  /// 1.20e-3 → 5, 3e+02 → -2.
  std::int16_t decimals = 0;
  bool scientific = false;  ///< written with an exponent
  /// A fraction, a root or a percentage: it is worth just that, whatever its decimals say.
  bool exact = false;
  /// Where what was written is no number: its text's place among Written::unread, from 1. Its
  /// value is NaN then. 0: it was read, or is blank.
  std::uint16_t unread = 0;
  /// A NaN that a program computed: its value is NaN, but it is not blank.
  bool computed = false;

  bool is_blank() const { return std::isnan(value) && unread == 0 && !computed; }
};

using Numerals = std::vector<Numeral, HugePages<Numeral>>;

/// What kind of numbers a file holds: digits that a person or a program printed, or binary ones.
enum class Precision { digits, float16, bfloat16, float32, float64 };

/// Numbers read from a file or a string, with their digits and the labels they came with.
struct ParsedArray {
  Shape shape;                             ///< any rank, at least 1
  Numerals cells;                          ///< row-major
  std::vector<std::string> row_labels;     ///< none, or one for each row (rank 2 only)
  std::vector<std::string> column_labels;  ///< none, or one for each column (rank 2 only)
  Precision precision = Precision::digits;
  std::vector<std::string> unread = {};  ///< the texts of cells that are no numbers
  std::string remark = {};               ///< what its reader is to know of how it was taken
};

/// One matrix of a file that may hold several.
struct NamedArray {
  std::string name;  ///< empty where the file does not say
  ParsedArray written;
};

}  // namespace qkv::inline formats
