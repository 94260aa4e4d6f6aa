#pragma once

#include <optional>
#include <span>
#include <vector>

#include "check/intake/layout.hpp"

namespace qkv::inline check {

/// What a matrix's tolerance is derived from.
enum class ToleranceBasis {
  decimals,        ///< the most decimals written in it
  exponents,       ///< e-notation: each cell's own last digit
  whole,           ///< integers where integers are expected: exact
  other_matrices,  ///< integers where they are not: the decimals of the other matrices
  rounded,         ///< the same if no matrix has decimals: 1
  bfloat16,        ///< a program's precision
  float16,         ///< a program's precision
  float32,         ///< a program's precision
  float64,         ///< a program's precision
  copied,          ///< a given: equal to the lesson's number or wrong
  requested        ///< the decimals that the user requested
};

/// The tolerance of a matrix: one unit in the last place that the learner wrote, or one per cell.
struct MatrixTolerance {
  double plain = 0;             ///< of cells without their own
  std::vector<double> of_cell;  ///< per cell, or empty
  int decimals = 0;             ///< as the learner wrote
  ToleranceBasis basis = ToleranceBasis::decimals;
  double floor = 0;                         ///< the smallest difference that counts in any cell
  Precision precision = Precision::digits;  ///< of the program that computed the numbers
  /// The unit of intermediate numbers in e-notation, where one outlier does not make them coarse,
  /// and of a program that rounded.
  std::optional<double> intermediate = {};

  double of(std::size_t cell) const { return of_cell.empty() ? plain : of_cell[cell]; }
  /// Returns the cell's unit, with slack for an inclusive comparison.
  double tolerance(std::size_t cell) const { return of(cell) * (1 + 1e-9); }
  /// Returns the largest unit of its cells.
  double largest() const;
  /// True if the digits are written ones: a result with no more of them need not be rounded.
  bool are_written() const;
  /// Returns the unit of an intermediate matrix that was not submitted: from the same decimals, or
  /// the same program.
  double unsubmitted(std::span<const double> numbers) const;
  /// Returns the decimals of such a matrix. If a program rounds nothing, more than are ever used.
  int unsubmitted_decimals() const;
};

/// The expected numbers of a matrix.
struct Expected {
  std::span<const double> from_own;  ///< the step, computed from the learner's own numbers
  std::span<const double> truth;     ///< the lesson's
};

/// How the learner rounds in the submission's other matrices; 0 if unknown.
struct OtherDecimals {
  int written = 0;      ///< the most decimals
  int few = 0;          ///< the most decimals of matrices in which all numbers have few
  int rounded = 0;      ///< the same, of matrices whose right numbers have more
  int single = 0;       ///< how many of these show but a single decimal: two prove what one does
  int needed = 0;       ///< the most of matrices whose numbers are too large to show rounding
  double fraction = 0;  ///< of matrices with all digits: the largest distance from a whole number

  void add(const OtherDecimals& matrix);
};

/// Returns the tolerance of a matrix. `digits` overrides the written decimals.
MatrixTolerance matrix_tolerance(const SubmittedArray& submitted, const Expected& expected,
                                 const OtherDecimals& others, std::optional<int> digits);

/// Returns the tolerance of a copied given. A cell whose number has no more decimals than the
/// learner writes must equal the lesson's. `truth` are the lesson's numbers.
MatrixTolerance copied_tolerance(const SubmittedArray& submitted, std::span<const double> truth,
                                 const OtherDecimals& others, std::optional<int> digits);

/// Returns the most decimals in the matrix, ignoring e-notation unless there is nothing else. For a
/// binary file: those that its numbers need, at most what its precision holds.
int most_decimals(const SubmittedArray& submitted);

}  // namespace qkv::inline check
