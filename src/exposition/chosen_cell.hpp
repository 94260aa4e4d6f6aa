#pragma once

#include <optional>

#include "lesson/lesson.hpp"
#include "trace/reference.hpp"
#include "trace/trace.hpp"

namespace qkv {

/// The cell that a step is explained by: the lesson's choice, or where it has none, or chose one
/// that is hidden by now, a typical one.
CellReference cell_of(const Lesson& lesson, const Trace& trace, const Step& step);

/// A typical cell: the third row's largest number, or where all of that is hidden another row's.
CellReference typical_cell(const Step& step);

/// Whether a mask hides the cell, or hid the score that it was made of.
bool is_hidden(const Trace& trace, const Step& step, const CellReference& cell);

/// The same cell in the head that is looked at, if there is one and its matrix has heads.
CellReference in_head(CellReference cell, const Trace& trace, std::optional<std::size_t> head);

}  // namespace qkv
