#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lesson/library.hpp"
#include "trace/cell_reference.hpp"

namespace qkv::inline exposition {

/// How the loss depends on a number through one cell.
struct CellSensitivity {
  std::size_t index = 0;  ///< its index in the step's values
  double derivative = 0;  ///< of the cell with respect to the number
};

/// The cells of one step through which the number affects the loss.
struct StepSensitivity {
  std::string name;
  std::vector<CellSensitivity> cells;
};

struct Sensitivity {
  CellReference cell;  ///< the number's cell
  std::vector<StepSensitivity>
      steps;                 ///< in the lesson's order; empty if the loss does not depend on it
  std::size_t left_out = 0;  ///< steps in between that were too large to keep
};

/// Returns the cells through which the number of `gradient` affects the loss: those that depend on
/// it and have a gradient that is not 0. Their derivatives are central differences: all later steps
/// are recomputed with the number slightly larger and smaller. Nothing if the cell is not a
/// gradient of a given or step, or if it cannot be recomputed.
std::optional<Sensitivity> sensitivity_of(const LoadedLesson& loaded,
                                          const CellReference& gradient);

/// Returns a step's first cells as text, with no-break spaces in them: "2 of 9: [fat,the] -0.5, …".
std::string sensitivity_text(const StepSensitivity& step, const Trace& trace, int digits);

}  // namespace qkv::inline exposition
