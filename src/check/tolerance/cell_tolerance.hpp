#pragma once

#include <optional>
#include <span>
#include <vector>

#include "check/intake/layout.hpp"

namespace qkv::inline check {

/// What a matrix's tolerance goes by.
enum class ToleranceBasis {
  decimals,        ///< the most that were written in it
  exponents,       ///< e-notation: each cell's own last digit
  whole,           ///< whole numbers where whole ones are right: exact
  other_matrices,  ///< whole numbers where they are not: the decimals of the other matrices
  rounded,         ///< the same where nothing has decimals: half of 1
  bfloat16,        ///< a program's precision
  float16,         ///< a program's precision
  float32,         ///< a program's precision
  float64,         ///< a program's precision
  copied,          ///< a given: either the lesson's number or not
  requested        ///< the decimals that were asked for
};

/// The tolerance of a matrix: one unit in the last place that the learner wrote.
struct MatrixTolerance {
  double plain = 0;             ///< of every cell that has none of its own
  std::vector<double> of_cell;  ///< where cells have their own; else empty
  int decimals = 0;             ///< what the learner wrote
  ToleranceBasis basis = ToleranceBasis::decimals;
  double floor = 0;  ///< no cell is told closer than this from what it should be
  Precision precision = Precision::digits;  ///< of the program whose numbers they are
  /// In e-notation: of numbers on the way to these; one wild number does not make them coarse.
  std::optional<double> intermediate = {};
  std::optional<int> rounded = {};  ///< the decimals that a program's user rounds to, if that shows

  double of(std::size_t cell) const { return of_cell.empty() ? plain : of_cell[cell]; }
  /// The cell's unit with the slack of an inclusive comparison.
  double tolerance(std::size_t cell) const { return of(cell) * (1 + 1e-9); }
  /// The largest one of its cells.
  double largest() const;
  /// Whether digits were written that a result may have no more of: then it need not be rounded.
  bool are_written() const;
  /// The unit of a matrix that was worked out on the way to this one and not handed in: by the same
  /// decimals, or the same program.
  double unsubmitted(std::span<const double> numbers) const;
  /// The decimals of such a matrix; more than are ever cut to where a program rounds nothing.
  int unsubmitted_decimals() const;
};

/// What a matrix should hold.
struct Expected {
  std::span<const double> from_own;  ///< what the step makes of the learner's own numbers
  std::span<const double> truth;
};

/// What the submission's other matrices tell of how the learner rounds; 0 where they don't.
struct OtherDecimals {
  int written = 0;  ///< the most decimals
  int rounded = 0;  ///< the most of those whose numbers were rounded, as far as that shows
};

/// `digits` overrides what was written.
MatrixTolerance matrix_tolerance(const SubmittedArray& submitted, const Expected& expected,
                                 const OtherDecimals& others, std::optional<int> digits);

/// The unit of a given that was copied: a cell whose number has no more decimals than the learner
/// writes is either the lesson's or not. `truth` are the lesson's numbers.
MatrixTolerance copied_tolerance(const SubmittedArray& submitted, std::span<const double> truth,
                                 std::optional<int> digits);

/// The most decimals written in the matrix, e-notation aside unless there is nothing else; of a
/// binary file those that its numbers need, at most what its precision can hold.
int most_decimals(const SubmittedArray& submitted);

}  // namespace qkv::inline check
