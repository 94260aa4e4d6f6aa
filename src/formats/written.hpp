#pragma once

#include <string>
#include <vector>

#include "tensor/tensor.hpp"

namespace qkv {

/// A number as somebody wrote it: what it is worth and how far its digits go.
struct Numeral {
  double value = 0;  ///< NaN where the cell is blank
  /// The place of the last digit written, counted behind the point: 0.25 → 2, 12 → 0,
  /// 1.20e-3 → 5, 3e+02 → -2.
  int decimals = 0;
  bool scientific = false;  ///< written with an exponent
};

/// What kind of numbers a file holds: digits that a person or a program printed, or binary ones.
enum class Precision { digits, float16, bfloat16, float32, float64 };

/// Numbers read from a file or a string, with their digits and the labels they came with.
struct Written {
  Shape shape;                             ///< any rank, at least 1
  std::vector<Numeral> cells;              ///< row-major
  std::vector<std::string> row_labels;     ///< none, or one for each row (rank 2 only)
  std::vector<std::string> column_labels;  ///< none, or one for each column (rank 2 only)
  Precision precision = Precision::digits;
};

/// One matrix of a file that may hold several.
struct NamedWritten {
  std::string name;  ///< empty where the file does not say
  Written written;
};

}  // namespace qkv
