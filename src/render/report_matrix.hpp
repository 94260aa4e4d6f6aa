#pragma once

#include <string>

#include "render/report_view.hpp"

namespace qkv {

/// Every shown matrix of a tensor as a table of shaded numbers, `digits` decimals, with a caption
/// (`caption`, then head and shape) and labels. `index` is the tensor's place in the report's data;
/// without one (a matrix on the way to a result) no arithmetic is behind the cells. What a large
/// tensor leaves out is said below, with `whole`, the command that shows it.
std::string heatmaps(const TensorView& view, Convention convention, int digits,
                     const std::string& caption, const std::string& index,
                     const std::string& whole);

}  // namespace qkv
