#pragma once

#include <functional>

#include "exporting/export_plan.hpp"
#include "trace/trace.hpp"

namespace qkv {

/// Hands each CSV file of a lesson to fill in to `take`, named as export names them: the givens
/// with their numbers, the steps with their labels and blank cells.
void blank_sheets(const Trace& trace, const std::function<void(ExportedFile)>& take);

}  // namespace qkv
