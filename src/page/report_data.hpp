#pragma once

#include <string>
#include <vector>

#include "page/report_view.hpp"

namespace qkv {

/// How far a cell's arithmetic is spelled out.
struct ReportLook {
  int digits = 4;
  std::size_t most_terms = 9;  ///< longer sums lose their middle, as in the walk
  std::string asked = {};      ///< how a command names the lesson
  bool is_whole = true;        ///< every step is there, so that what follows from a change is, too
};

/// What a report's script works every cell's arithmetic out from, as JSON: the numbers that are
/// read, each step's program (see cell_program.hpp), the labels, the values of functions.
/// `report_arithmetic.js` says at its head how it reads this.
std::string report_data(const Trace& trace, const std::vector<TensorView>& views,
                        const ReportLook& look);

}  // namespace qkv
