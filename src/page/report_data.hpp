#pragma once

#include "exposition/exposition.hpp"
#include "page/report_view.hpp"
#include "trace/trace.hpp"

namespace qkv::inline page {

/// Options of the report's data.
struct ReportDataOptions {
  int digits = 4;
  std::size_t max_terms = 9;  ///< longer sums lose their middle, as in the walk
  std::string asked = {};     ///< the lesson as a command names it
  bool is_whole = true;       ///< all steps are included, so that changes can be followed
  LessonMap map = {};         ///< of the trace without intermediates
};

/// Returns the data from which a report's script computes every cell's arithmetic, as JSON for a
/// <script> element: numbers, each step's trees (see cell_trees.hpp), labels, function values. The
/// head of `report_arithmetic.js` documents how it is read.
std::string report_data(const Trace& trace, const std::vector<TensorView>& views,
                        const ReportDataOptions& look);

}  // namespace qkv::inline page
