#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lesson/library.hpp"
#include "trace/reference.hpp"

namespace qkv::inline exposition {

/// A cell between a number and the loss.
struct CellSensitivity {
  std::size_t index = 0;  ///< its place among the step's numbers
  double derivative = 0;  ///< for every 1 that the number gains
};

/// The cells of one step through which the loss sees a number.
struct StepSensitivity {
  std::string name;
  std::vector<CellSensitivity> cells;
};

struct Sensitivity {
  CellReference cell;  ///< the number
  std::vector<StepSensitivity>
      steps;                 ///< in the lesson's order; none where the loss sees it nowhere
  std::size_t left_out = 0;  ///< how many steps in between were too large to be kept
};

/// Through which cells the loss sees the number that `gradient` is the gradient of: those that move
/// with it and have a gradient of their own that is not 0. What they gain is measured: all that
/// follows is worked out again with the number a little larger and a little smaller. Nothing where
/// the cell is no gradient of a given or a step, or where that can't be worked out again.
std::optional<Sensitivity> sensitivity_of(const LoadedLesson& loaded,
                                          const CellReference& gradient);

/// A step's cells in words, the first few of them: "2 of 9: [fat,the] -0.5, [fat,fat] 1". Blanks
/// at which no line may end do not break.
std::string sensitivity_text(const StepSensitivity& step, const Trace& trace, int digits);

}  // namespace qkv::inline exposition
