#pragma once

#include <cstddef>
#include <string>

#include "lesson/lesson.hpp"
#include "trace/reference.hpp"
#include "trace/trace.hpp"

namespace qkv {

/// How a walk looks on this terminal.
struct WalkLook {
  std::size_t width = 80;
  int digits = 4;
  bool colour = false;
  const Trace* before = nullptr;  ///< the lesson's own numbers, where some were changed
};

/// A lesson's title, what it is about and where its numbers come from.
std::string lesson_heading(const Lesson& lesson, const WalkLook& look);

/// One step as people read it: title, formula with shapes, explanation, the givens that it is the
/// first to use, the matrix, one cell worked out, what to notice.
std::string step_text(const Lesson& lesson, const Trace& trace, const Step& step,
                      const WalkLook& look);

/// `Q (7×2) · Kᵀ (2×7) → scores (7×7)`.
std::string formula_text(const Trace& trace, const Step& step);

/// The cell that a step is explained by: a row that is neither first nor bare, its largest number.
CellReference typical_cell(const Step& step);

}  // namespace qkv
