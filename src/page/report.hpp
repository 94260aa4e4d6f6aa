#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lesson/lesson.hpp"
#include "trace/trace.hpp"

namespace qkv::inline page {

/// What a report says of itself beside the lesson.
struct ReportOptions {
  int digits = 4;                        ///< decimals of the numbers that people see
  std::string command;                   ///< that makes this report, for its last line
  std::vector<std::size_t> steps = {};   ///< only these, by their places in the trace; else all
  std::optional<std::size_t> head = {};  ///< of what has heads, only this one
  std::function<void()> on_step = {};    ///< told when a step is on the page
};

/// The walk as one page of HTML that needs nothing else: every step with its formula (MathML), its
/// words, its matrices as heatmaps, one cell worked out; the script that is part of it shows how
/// any other cell comes about, and where from. Its content security policy lets nothing else run
/// or load, so that the texts and labels of a lesson stay text.
std::string report_page(const Lesson& lesson, const Trace& trace, const ReportOptions& wish);

/// A file of the page and its SHA-256 in hexadecimal, both put into the binary when it is built.
struct PageAsset {
  std::string_view text;
  std::string_view sha256;
};
PageAsset report_style();
PageAsset report_script();

}  // namespace qkv::inline page
