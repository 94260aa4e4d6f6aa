#pragma once

#include <optional>
#include <span>
#include <vector>

#include "check/submission.hpp"

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
  float16,    ///< a binary file's precision
  float32,    ///< a binary file's precision
  float64,    ///< a binary file's precision
  asked       ///< the decimals that were asked for
};

/// The tolerance of a matrix: one unit in the last place that the learner wrote.
struct Units {
  std::vector<double> of_cell;
  int decimals = 0;  ///< what the learner wrote
  Measure measure = Measure::decimals;

  /// The cell's unit with the slack of an inclusive comparison.
  double reach(std::size_t cell) const { return of_cell[cell] * (1 + 1e-9); }
};

/// `right` is what the step makes of the learner's own numbers; `others` the decimals of the
/// submission's other matrices; `digits` overrides what was written.
Units units_of(const Handed& handed, std::span<const double> right, int others,
               std::optional<int> digits);

/// The most decimals written in the matrix, e-notation aside unless there is nothing else.
int most_decimals(const Handed& handed);

}  // namespace qkv
