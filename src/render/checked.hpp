#pragma once

#include <string>
#include <vector>

#include "check/check.hpp"

namespace qkv {

/// Whether a report may say what the right numbers are.
enum class Answers { shown, kept };

struct CheckLook {
  std::size_t width = 80;
  bool colour = false;
  Answers answers = Answers::shown;
};

/// The report as a learner reads it: step by step, a mark in each cell of what is not all right,
/// the first wrong cell with its arithmetic, the mistake that makes it, and what only follows from
/// it.
std::string checked_text(const CheckReport& report, const CheckLook& look);

/// The report as SPEC, section 5 lays it down.
std::string checked_json(const std::vector<CheckReport>& reports, const Lesson& lesson,
                         Answers answers);

/// One line: the verdict, the first wrong step and its mistake, how many cells are right.
std::string checked_line(const CheckReport& report, const Trace& trace);

/// A CSV table of a class: a row for each submission with its marks (correct, rounding and carried
/// cells) out of all cells of the lesson's steps. Those that could not be read get none.
std::string summary_csv(const std::vector<CheckReport>& reports,
                        const std::vector<std::string>& unreadable, const Trace& trace);

}  // namespace qkv
