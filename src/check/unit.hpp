#pragma once

#include <optional>
#include <span>
#include <vector>

#include "check/submission.hpp"

namespace qkv {

/// The tolerance of a matrix: one unit in the last place that the learner wrote (SPEC, section 5).
struct Units {
  std::vector<double> of_cell;
  int decimals = 0;    ///< what the learner wrote
  bool exact = false;  ///< whole numbers, judged as such

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
