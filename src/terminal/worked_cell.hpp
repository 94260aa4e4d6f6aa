#pragma once

#include <string>

#include "terminal/walk.hpp"
#include "trace/reference.hpp"

namespace qkv {

/// A cell of a step worked out line by line, below "One cell:". The line of names is cut shorter
/// where it is long, and what is too long to read is left to the command that explains a cell of
/// `lesson`. Empty where there is nothing to work out.
std::string worked_cell_text(const std::string& lesson, const Trace& trace,
                             const CellReference& cell, const WalkLook& look);

}  // namespace qkv
