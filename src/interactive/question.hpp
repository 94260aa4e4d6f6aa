#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lesson/lesson.hpp"
#include "trace/reference.hpp"

namespace qkv {

/// A cell of the step that is worth asking for: worked out rather than taken over, from few enough
/// cells for work by hand, and neither hidden nor 0 or 1. The same seed asks for the same cell.
/// Nothing where the step has no such cell.
std::optional<CellReference> question_cell(const Trace& trace, const Step& step,
                                           std::uint32_t seed);

/// The built-in lesson to read about an operation: the one that says that it explains it. Nothing
/// where none does, or `lesson` itself is the one.
std::optional<std::string> reading_about(const Operation& operation, const Lesson& lesson);

}  // namespace qkv
