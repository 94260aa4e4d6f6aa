#pragma once

#include "check/intake/layout.hpp"

namespace qkv::inline check {

/// What a matrix's tolerance is derived from.
enum class ToleranceBasis {
  decimals,        ///< the most decimals written in it
  exponents,       ///< e-notation: each cell's own last digit
  whole,           ///< integers where integers are expected: exact
  other_matrices,  ///< integers where they are not: the decimals of the other matrices
  rounded,         ///< the same if no matrix has decimals: 1
  type,            ///< a program's precision
  copied,          ///< a given: equal to the lesson's number or wrong
  requested        ///< the decimals that the user requested
};

/// Whole numbers are exact, however large: those that are further apart differ.
constexpr double half_of_one = 0.5;

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
  int significant = 0;  ///< the most significant digits, if all numbers are in e-notation; else 0

  double of(std::size_t cell) const { return of_cell.empty() ? plain : of_cell[cell]; }
  /// Returns the cell's unit, with slack for an inclusive comparison.
  double tolerance(std::size_t cell) const { return of(cell) * (1 + 1e-9); }
  /// Returns the largest unit of its cells.
  double largest() const;
  /// True if the digits are written ones: a result with no more of them need not be rounded.
  bool are_written() const { return basis != ToleranceBasis::type; }
  /// Returns the unit of an intermediate matrix that was not submitted: from the same decimals, or
  /// the same program.
  double unsubmitted(std::span<const double> numbers) const;
  /// Returns the unit of the number `x` in such a matrix, whose own unit is `unit`, or 0 if it is
  /// not rounded: in e-notation a larger number has fewer decimals.
  double unsubmitted_cell(double unit, double x) const;
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
  int exact = 0;        ///< the same, of fractions and roots alone: nobody wrote so many
  int few = 0;          ///< the most decimals of matrices in which all numbers have few
  int rounded = 0;      ///< the same, of matrices whose right numbers have more
  int single = 0;       ///< how many of these show but a single decimal: two prove what one does
  int needed = 0;       ///< the most of matrices whose numbers are too large to show rounding
  double fraction = 0;  ///< of matrices with all digits: the largest distance from a whole number

  void add(const OtherDecimals& matrix);
  /// Returns the most decimals; those of fractions and roots if no other number has any.
  int most() const { return written > 0 ? written : exact; }
};

/// Returns the tolerance of a matrix. `digits` overrides the written decimals.
MatrixTolerance matrix_tolerance(const SubmittedArray& submitted, const Expected& expected,
                                 const OtherDecimals& others, std::optional<int> digits);

/// Returns the tolerance of a copied given. A cell whose number has no more decimals than the
/// learner writes must equal the lesson's. `truth` are the lesson's numbers.
MatrixTolerance copied_tolerance(const SubmittedArray& submitted, std::span<const double> truth,
                                 const OtherDecimals& others, std::optional<int> digits);

/// A requested tolerance; without any, the default for the numbers. If only one of rtol and atol is
/// set, the other is that of numpy.testing.assert_allclose: rtol 1e-7, atol 0.
struct ToleranceChoice {
  std::optional<double> relative = {};
  std::optional<double> absolute = {};
  /// Both tolerances of the steps that match a pattern with *; the last one counts.
  std::vector<std::pair<std::string, double>> of_steps = {};

  /// Returns the tolerance requested for this step, or nothing.
  std::optional<Tolerance> of(std::string_view step) const;
};

/// True if numbers of the precision may be off by the rounding error of the largest one.
bool uses_largest(Precision precision);

/// Returns the tolerance for two programs' arrays: PyTorch's for the precision times the root of
/// `terms`, the number of summed terms. In half precision it is at least the rounding error of the
/// large terms in a sum, which exceeds PyTorch's atol. `desired` are the other side's numbers.
Tolerance tolerance_of_dumps(Precision precision, std::span<const double> desired,
                             std::size_t terms);

/// Returns the tolerance for numbers that were both computed here, in float64.
Tolerance tolerance_of_lessons(std::span<const double> desired);

/// Returns the most decimals in the matrix, ignoring e-notation unless there is nothing else. For a
/// binary file: those that its numbers need, at most what its precision holds.
int most_decimals(const SubmittedArray& submitted);

/// Returns the smallest difference between two of a program's numbers that counts: by the largest
/// of the right ones.
double unit_of_program(Precision precision, std::span<const double> right);

/// True if the type holds the number exactly. Digits and float64 hold any.
bool is_held(double x, Precision type);

/// Returns the precision that a program computed with, even if the file stores or prints more
/// digits. A coarser type is detected if all numbers fit it, though `expected` does not:
/// 0.333984375 is a third in bfloat16. Beside finer arrays half precision has to show more clearly.
/// Otherwise returns the stored precision.
Precision detect_precision(const SubmittedArray& submitted, std::span<const double> expected,
                           bool beside_finer);

/// Takes all arrays of a program as ones of a coarser type, if all numbers fit it and one array
/// shows it: whole numbers alone show no type.
void adopt_common_type(const Trace& trace, std::vector<SubmittedArray>& arrays);

/// Returns the decimals that the numbers were rounded to, if the whole submission was visibly
/// rounded: no matrix has all its digits, and numbers have few decimals where the right ones have
/// more. Halves and quarters prove nothing.
std::optional<int> detect_rounding(const SubmittedArray& submitted, const Expected& expected,
                                   const OtherDecimals& others);

/// Returns what one matrix shows of the submission's rounding. `truth` is the lesson's step;
/// nullptr for a given: copied numbers show no more than that nothing was rounded.
OtherDecimals decimals_of(const SubmittedArray& submitted, const Tensor* truth);

/// True if the number is further than `slack` from every number of so many decimals.
bool has_more_decimals(double x, int decimals, double slack);

}  // namespace qkv::inline check
