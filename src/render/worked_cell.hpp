#pragma once

#include <string>

#include "render/walk.hpp"

namespace qkv {

/// One cell of a step worked out line by line, below "One cell:": where numbers were changed, the
/// cell that this changed most; else the one that the lesson chose, or a typical one. The line of
/// names is cut shorter where it is long, and what nobody would read to its end is left out. Empty
/// where there is nothing to work out.
std::string worked_cell_text(const Lesson& lesson, const Trace& trace, const Step& step,
                             const WalkLook& look);

}  // namespace qkv
