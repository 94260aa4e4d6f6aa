#pragma once

#include <string>

#include "trace/trace.hpp"

namespace qkv {

/// What a change of the lesson did to one step, in a line: how many cells, and the first of them
/// with what they were: `changed: 2 of 49 cells: scores[cat,fat] 4 → 8, scores[cat,mat] 1 → 2`.
/// Where the step is of another size, or belongs to other words, that is what it says.
std::string changes_text(const Step& step, const Trace& before, int digits);

}  // namespace qkv
