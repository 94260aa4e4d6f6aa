#pragma once

#include <string>
#include <vector>

#include "page/report_view.hpp"
#include "trace/trace.hpp"

namespace qkv::inline page {

/// Options of the report's data.
struct ReportDataOptions {
  int digits = 4;
  std::size_t max_terms = 9;  ///< longer sums lose their middle, as in the walk
  std::string asked = {};     ///< the lesson as a command names it
  bool is_whole = true;       ///< all steps are included, so that changes can be followed
};

/// Returns the data from which a report's script computes every cell's arithmetic, as JSON:
/// numbers, each step's bytecode (see cell_bytecode.hpp), labels, function values. The head of
/// `report_arithmetic.js` documents how it is read.
std::string report_data(const Trace& trace, const std::vector<TensorView>& views,
                        const ReportDataOptions& look);

/// Returns the givens that a page can edit live, because the browser can recompute all steps after
/// them. Those steps must be shown, be small enough for work by hand, and read the same cells for
/// all numbers. This excludes ids, given masks, the givens that these are computed from, and
/// functions that browsers lack.
std::vector<std::string> live_inputs(const Trace& trace, const std::vector<TensorView>& views);

}  // namespace qkv::inline page
