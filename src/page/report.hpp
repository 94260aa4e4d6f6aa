#pragma once

#include "formats/format.hpp"
#include "lesson/lesson.hpp"

namespace qkv::inline page {

/// Options of a report.
struct ReportOptions {
  int digits = 4;                        ///< decimals of displayed numbers
  std::string command;                   ///< the command that makes this report, for its last line
  std::vector<std::size_t> steps = {};   ///< indices of steps in the trace; empty for all
  std::optional<std::size_t> head = {};  ///< show only this head
  std::function<void()> on_step = {};    ///< called after each step is written
};

/// Writes the walk as one self-contained HTML page: every step with its formula, prose,
/// heatmaps and one cell's arithmetic. The script in it shows the arithmetic and sources of any
/// other cell. The content security policy allows nothing else to run or load, so that a lesson's
/// texts stay text.
void write_report(const Lesson& lesson, const Trace& trace, const ReportOptions& wish,
                  const Sink& sink);

/// A file of the page and its SHA-256 in hexadecimal, both embedded at build time.
struct PageAsset {
  std::string_view text;
  std::string_view sha256;
};
PageAsset report_style();
PageAsset report_script();

}  // namespace qkv::inline page
