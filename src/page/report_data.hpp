#pragma once

#include <string>
#include <vector>

#include "page/report_view.hpp"
#include "trace/trace.hpp"

namespace qkv::inline page {

/// How far a cell's arithmetic is spelled out.
struct ReportDataOptions {
  int digits = 4;
  std::size_t max_terms = 9;  ///< longer sums lose their middle, as in the walk
  std::string asked = {};     ///< how a command names the lesson
  bool is_whole = true;       ///< every step is there, so that what follows from a change is, too
};

/// What a report's script works every cell's arithmetic out from, as JSON: the numbers that are
/// read, each step's program (see cell_program.hpp), the labels, the values of functions.
/// `report_arithmetic.js` says at its head how it reads this.
std::string report_data(const Trace& trace, const std::vector<TensorView>& views,
                        const ReportDataOptions& look);

/// The givens whose numbers a page may change, since it can work out everything that follows: all
/// is shown, there is as much of it as a person works out by hand, and which cells each cell is
/// made of, and how, is the same whatever the numbers are. So no ids and no mask that is given,
/// nothing that they are made of, and nothing that ends in a function that a browser lacks.
std::vector<std::string> live_inputs(const Trace& trace, const std::vector<TensorView>& views);

}  // namespace qkv::inline page
