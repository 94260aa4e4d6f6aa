#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "check/diagnose/diagnosis.hpp"
#include "check/intake/submission.hpp"
#include "check/judge/judge.hpp"
#include "lesson/lesson.hpp"
#include "trace/reference.hpp"

namespace qkv::inline check {

struct VerdictCounts {
  std::size_t correct = 0;
  std::size_t rounding = 0;
  std::size_t carried = 0;
  std::size_t wrong = 0;
  std::size_t blank = 0;
};

/// The first wrong cell of a step.
struct FirstWrong {
  CellReference cell;
  double given = 0;
  std::string text = {};  ///< what stands there, where it is no number
  double expected = 0;
  double from_yours = 0;
  bool is_exact = false;  ///< nothing was there to round
};

/// What the check says of one matrix that was handed in.
struct StepReport {
  std::string step;
  Verdict verdict = Verdict::correct;
  int digits = 0;
  ToleranceBasis basis = ToleranceBasis::decimals;  ///< what the tolerance goes by
  double unit = 0;                                  ///< the largest one of its cells
  std::optional<std::string> accepted_convention;   ///< "convention.columns", …
  VerdictCounts cells;
  std::optional<FirstWrong> first;
  std::optional<Region> region;  ///< where the wrong cells fill one
  std::vector<Diagnosis> mistakes;
  Tensor written;                             ///< the learner's numbers; NaN where blank
  std::map<std::size_t, std::string> unread;  ///< what stands in cells that are no numbers
  std::vector<Verdict> verdicts;              ///< one a cell; empty for a wrong shape
  Shape wrong_shape;                          ///< as handed in, for a wrong shape
  Shape right_shape;
  /// Cells pass as rounded that are off by half the size of all: what was not handed in before them
  /// leaves so much room.
  bool allows_rounding = false;
  bool only_shape_differs =
      false;  ///< its numbers are right and in order; no mistake explains more
};

enum class Outcome { correct, wrong, incomplete };

/// The steps one way, or their gradients, by themselves.
struct PassReport {
  Outcome outcome = Outcome::correct;
  std::optional<std::string> first_wrong = {};
  std::size_t handed_in = 0;  ///< so many matrices of it
};

/// The way there and the way back.
struct PassReports {
  PassReport forward, backward;
};

/// What the check says of a whole submission.
struct CheckReport {
  std::string submission;
  Outcome outcome = Outcome::correct;
  std::optional<std::string> first_wrong;
  std::vector<StepReport> steps;
  std::vector<std::string> missing;  ///< steps that were not handed in
  std::vector<std::string> notes;
  std::optional<PassReports> passes;  ///< where gradients were asked for
  Trace own;  ///< the lesson with the learner's own numbers, for the arithmetic of wrong cells
};

std::string_view outcome_name(Outcome outcome);

/// Checks one submission against a lesson and its trace.
CheckReport check_submission(const Lesson& lesson, const Trace& trace, const Submission& submission,
                             const CheckOptions& options);

/// A number as a person types an answer, which is as they write it in a cell (formats/cell.hpp): a
/// decimal point or comma, a fraction, a root, a percentage, inf and -inf. A fraction of whole
/// numbers is meant exactly; another (0.5/1.41) has the decimals of its parts. Throws InputError
/// that says how to write one.
Numeral parse_answer(std::string_view text);

/// What the check says of one cell by itself.
struct AnswerReport {
  Verdict verdict = Verdict::correct;
  std::vector<Diagnosis> mistakes;  ///< that make just this number, best first

  bool is_right() const { return verdict != Verdict::wrong; }
};

/// Judges one cell as `check` would judge a matrix with nothing but this cell in it, handed in
/// together with the step's operands as they are shown with `digits` decimals: those are what the
/// answer was worked from.
AnswerReport judge_answer(const Trace& trace, const CellReference& cell, const Numeral& answer,
                          int digits);

}  // namespace qkv::inline check
