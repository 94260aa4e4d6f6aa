#pragma once

#include "check/diagnose/diagnosis.hpp"

namespace qkv::inline check {

struct VerdictCounts {
  std::size_t correct = 0;
  std::size_t rounding = 0;
  std::size_t carried = 0;
  std::size_t undecided = 0;
  std::size_t wrong = 0;
  std::size_t blank = 0;
};

/// The first wrong cell of a step.
struct FirstWrong {
  CellReference cell;
  double given = 0;
  std::string text = {};  ///< the cell's text, if it is not a number
  double expected = 0;
  double from_yours = 0;
  double tolerance = 0;   ///< how far the cell may be off
  bool is_exact = false;  ///< no rounding occurs: the cell must be exact
  int digits = 0;         ///< the most decimals that the learner wrote in its operands
};

/// The check's result for one submitted matrix, with what diagnosis found out about it.
struct StepReport : NodeDiagnosis {
  std::string step;
  Verdict verdict = Verdict::correct;
  int digits = 0;
  ToleranceBasis basis = ToleranceBasis::decimals;  ///< what the tolerance is derived from
  Precision precision = Precision::digits;          ///< of the program that computed it
  double unit = 0;                                  ///< the largest tolerance of its cells
  std::string_view accepted_convention;             ///< "convention.columns", …; empty if none
  std::string rounded_constant = {};                ///< "√2 as 1.41", by that convention
  VerdictCounts cells;
  std::size_t left_out = 0;  ///< of the blank cells, those that were left out on purpose
  std::optional<FirstWrong> first;
  Tensor written;                                ///< the learner's numbers; NaN where blank
  std::map<std::size_t, std::string> bad_texts;  ///< texts of cells that are not numbers
  std::vector<Verdict> verdicts;                 ///< one per cell; empty for a wrong shape
  Shape wrong_shape;                             ///< as submitted; only for a wrong shape
  Shape right_shape;
  double tolerance = 0;  ///< the largest that was used: `unit`, or the room of a cell beyond it
  /// How far rounding alone may move its undecided cells; empty if there are none.
  std::optional<double> room = {};
  /// The fewest steps whose submission would decide them; empty if none would.
  std::vector<std::string> decided_by = {};
  std::string_view coarser_type = {};  ///< "float16", if the numbers of most steps are finer
  bool only_shape_differs = false;  ///< the numbers are right, in order; no mistake explains more

  bool is_wrong() const { return verdict == Verdict::wrong || verdict == Verdict::shape; }
  bool is_unfinished() const { return cells.blank > left_out; }  ///< cells are still to be filled
  /// The mistakes that right cells do not refute; the others stand last.
  std::span<const Diagnosis> likely_mistakes() const {
    const auto refuted = std::ranges::find(mistakes, true, &Diagnosis::is_refuted);
    return {mistakes.begin(), refuted};
  }
};

enum class Outcome { correct, wrong, undecided, incomplete };

/// The result for the forward pass alone, or for the gradients alone.
struct PassReport {
  Outcome outcome = Outcome::correct;
  std::optional<std::string> first_wrong = {};
  std::size_t submitted_count = 0;  ///< number of submitted matrices
};

struct PassReports {
  PassReport forward, backward;
};

/// The check's result for a whole submission.
struct CheckReport {
  std::string submission;
  Outcome outcome = Outcome::correct;
  std::optional<std::string> first_wrong = {};
  std::vector<StepReport> steps = {};
  std::vector<std::string> missing = {};  ///< steps that were not submitted
  std::string scheme = {};  ///< whose names the arrays had; empty if they had the lesson's
  std::vector<std::string> notes = {};
  std::vector<std::string> unreadable = {};  ///< why files of steps were not read
  std::optional<PassReports> passes = {};    ///< only if gradients were requested
  Trace own = {};  ///< the lesson with the learner's own numbers, for the arithmetic of wrong cells

  /// Returns the report of a step or given; nullptr if there is none.
  const StepReport* find(std::string_view step) const;
  /// Returns that of the first wrong one; nullptr if there is none.
  const StepReport* first_wrong_step() const { return first_wrong ? find(*first_wrong) : nullptr; }
};

std::string_view outcome_name(Outcome outcome);

/// Appends the gradients of all steps and givens to a lesson without a backward pass, so that
/// submitted gradients can be judged. They start at the loss: a last step of one number, or one
/// named loss, or a cross-entropy. Without a loss they start at the last step whose gradient was
/// submitted (d_output, grad_output, output.grad), which is used as submitted. Throws InputError if
/// there is no such gradient, if it has another shape or a missing number, and for several paths,
/// which might start at different steps.
LoadedLesson with_gradients(LoadedLesson loaded, const std::vector<std::string>& paths);

/// Checks one submission against a lesson and its trace.
CheckReport check_submission(const Lesson& lesson, const Trace& trace, const Submission& submission,
                             const CheckOptions& options);

/// Notes the type of each step whose numbers are coarser than those of most steps.
void note_coarser_types(std::vector<StepReport>& steps);

/// Parses a typed answer, with the same notation as a handwritten cell (formats/format.hpp). A
/// fraction of whole numbers is exact; another (0.5/1.41) has the decimals of its parts. Throws
/// InputError with examples of what to write.
Numeral parse_answer(std::string_view text);

/// The check's result for one cell alone.
struct AnswerReport {
  Verdict verdict = Verdict::correct;
  std::vector<Diagnosis> mistakes;  ///< that produce this number, best first

  bool is_right() const { return verdict != Verdict::wrong; }
};

/// Judges one cell as `check` judges a submission of this cell alone and the step's operands. The
/// operands are rounded to `digits` decimals, as the learner has seen them.
AnswerReport judge_answer(const Trace& trace, const CellReference& cell, const Numeral& answer,
                          int digits);

}  // namespace qkv::inline check
