#pragma once

#include <optional>
#include <span>
#include <vector>

#include "check/arrange.hpp"

namespace qkv {

/// The unit of whole numbers that stand for answers that are not whole: they were rounded.
inline constexpr double whole_numbers_unit = 0.5;

/// What a matrix's tolerance goes by.
enum class Measure {
  decimals,   ///< the most that were written in it
  exponents,  ///< e-notation: each cell's own last digit
  whole,      ///< whole numbers where whole ones are right: exact
  elsewhere,  ///< whole numbers where they are not: the decimals of the other matrices
  rounded,    ///< the same where nothing has decimals: half of 1
  bfloat16,   ///< a binary file's precision
  float16,    ///< a binary file's precision
  float32,    ///< a binary file's precision
  float64,    ///< a binary file's precision
  copied,     ///< a given: either the lesson's number or not
  asked       ///< the decimals that were asked for
};

/// The tolerance of a matrix: one unit in the last place that the learner wrote.
struct Units {
  double plain = 0;             ///< of every cell that has none of its own
  std::vector<double> of_cell;  ///< where cells have their own; else empty
  int decimals = 0;             ///< what the learner wrote
  Measure measure = Measure::decimals;

  double of(std::size_t cell) const { return of_cell.empty() ? plain : of_cell[cell]; }
  /// The cell's unit with the slack of an inclusive comparison.
  double reach(std::size_t cell) const { return of(cell) * (1 + 1e-9); }
  /// The largest one of its cells.
  double largest() const;
};

/// What a matrix should hold.
struct Due {
  std::span<const double> from_own;  ///< what the step makes of the learner's own numbers
  std::span<const double> truth;
};

/// `others` are the decimals of the submission's other matrices; `digits` overrides what was
/// written.
Units units_of(const Handed& handed, const Due& due, int others, std::optional<int> digits);

/// The unit of a given that was copied: a cell whose number has no more decimals than the learner
/// writes is either the lesson's or not. `truth` are the lesson's numbers.
Units units_of_copy(const Handed& handed, std::span<const double> truth, std::optional<int> digits);

/// The most decimals written in the matrix, e-notation aside unless there is nothing else; of a
/// binary file those that its numbers need, at most what its precision can hold.
int most_decimals(const Handed& handed);

}  // namespace qkv
