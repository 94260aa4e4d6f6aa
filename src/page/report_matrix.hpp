#pragma once

#include <string>

#include "page/report_view.hpp"

namespace qkv {

/// Every shown matrix of a tensor as a table of shaded numbers, `digits` decimals, with a caption
/// (`caption`, then head and shape) and labels. `mark` is the attribute that says which tensor of
/// the report's data has the cells' arithmetic, ` data-tensor="3"`; without one there is none. What
/// a large tensor leaves out is said below, with `whole`, the command that shows it.
std::string heatmaps(const TensorView& view, Convention convention, int digits,
                     const std::string& caption, const std::string& mark, const std::string& whole);

}  // namespace qkv
