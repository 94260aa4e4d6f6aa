#pragma once

#include <optional>

#include "lesson/lesson.hpp"
#include "trace/reference.hpp"
#include "trace/trace.hpp"

namespace qkv {

/// The cell that a step is explained by: the lesson's choice, or where it has none a typical one.
CellReference cell_of(const Lesson& lesson, const Trace& trace, const Step& step);

/// A typical cell: a row that is neither first nor bare, its largest number.
CellReference typical_cell(const Step& step);

/// The same cell in the head that is looked at, if there is one and its matrix has heads.
CellReference in_head(CellReference cell, const Trace& trace, std::optional<std::size_t> head);

}  // namespace qkv
