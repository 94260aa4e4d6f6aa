#pragma once

#include <nlohmann/json_fwd.hpp>

#include "check/compare/compare.hpp"
#include "check/grading/marks.hpp"

namespace qkv::inline verdicts {

/// Whether a report may show the expected numbers.
enum class Answers { shown, kept };

/// The message for right numbers in another shape.
inline constexpr std::string_view only_the_shape_text =
    "The numbers and their order are right: only the shape is not.";

/// Which steps are reported in full: the first wrong matrix, or each step with its numbers.
enum class Detail { first_wrong, all };

struct CheckStyle {
  std::size_t width = 80;
  bool colour = false;
  Answers answers = Answers::shown;
  Detail detail = Detail::first_wrong;
  std::string lesson = {};  ///< as `qkv explain` takes it; empty: no `explain` hints
};

/// A submitted path and its result.
struct CheckedPath {
  std::string path;
  std::optional<CheckReport> report = {};  ///< empty if it could not be read
  std::string failure = {};                ///< the reason
};

/// Returns the report for the learner. It lists the steps by verdict, shows the arithmetic of the
/// first wrong cell and the cells of the first wrong matrix, and ends with the verdict in one
/// sentence. A report of one mistake fits a screen of 24 lines.
std::string checked_text(const CheckReport& report, const CheckStyle& style);

/// Returns the arithmetic of a step's first wrong cell from the learner's numbers: "0.21 / √2 =
/// 0.148". Long sums are elided. Empty if there is none of at most `longest` columns.
std::string checked_arithmetic(const Trace& own, const StepReport& step, std::size_t longest);

/// Returns where the wrong cells of a step are, and the mistakes that explain them, one per line.
std::string checked_causes(const Trace& own, const StepReport& step, const CheckStyle& style);

/// Returns the cause of a step's wrong cells in a few words: its mistake, or those it could be.
std::string cause_text(const StepReport& step);

/// Returns the steps with undecided cells, in the lesson's order.
std::vector<const StepReport*> undecided_steps(const CheckReport& report);

/// Describes how far rounding alone may move the undecided cells of some steps.
std::string room_text(const std::vector<const StepReport*>& steps);

/// Describes the undecided cells among all submitted steps, and what would decide them. `verb` is
/// what the reader does: "Submit".
std::string undecided_text(const std::vector<const StepReport*>& steps, std::string_view verb,
                           const CheckStyle& style);

/// Returns the reports in the format of schemas/check.schema.json: an object, or a list of several.
std::string checked_json(const std::vector<CheckedPath>& all, const Lesson& lesson,
                         Answers answers);

/// Returns one line: the verdict, the first wrong step and its mistake, the marks.
std::string checked_line(const CheckedPath& one, const Rubric& rubric);

/// Returns a CSV table of a class: a row per submission with its marks, in total and for each step.
/// Unreadable submissions get none, and the reason.
std::string summary_csv(const std::vector<CheckedPath>& all, const Rubric& rubric);

/// Returns a learner's number nearly as written: with the decimals of its matrix.
std::string learner_number(double value, int digits);

/// Returns the mark of a verdict: ✓ ≈ → ? ✗ ·
std::string_view verdict_sign(Verdict verdict);

/// Returns the meaning of the marks behind a step's numbers, on one or more lines.
std::string verdict_legend(const StepReport& step, const CheckStyle& style);

/// Returns where the region of a step's wrong cells lies along each axis as displayed: "batch",
/// "head", "row" and "column".
std::vector<std::pair<std::string_view, IndexRange>> shown_extents(const StepReport& step,
                                                                   TokenLayout token_layout);

/// Returns one matrix of a step with the learner's numbers and a mark behind each. If it is too
/// large for the screen or has more than `max_rows`, lines with errors come first, and a note says
/// what is left out. `own` is the lesson with the learner's numbers.
std::string marked_grid(const StepReport& step, const Trace& own, std::size_t index,
                        const CheckStyle& style, std::size_t max_rows);

/// Returns a cell's position, counted from 1: its head and batch, its row and its column.
nlohmann::ordered_json cell_json(const CellReference& cell, const Tensor& tensor,
                                 TokenLayout token_layout);

/// Display options of a comparison.
struct CompareStyle {
  std::size_t width = 80;
  bool all = false;  ///< list the matrices that only one side has
  /// The command that finds the known mistake behind the numbers; empty if there is none.
  std::string check_command = {};
};

/// Returns a line for each step, the tolerance, and the first step that differs, as in
/// numpy.testing.assert_allclose.
std::string compared_text(const Comparison& comparison, const ComparedSide& actual,
                          const ComparedSide& desired, const CompareStyle& style);

/// Returns the same as JSON. Cell indices count from 0, as in NumPy.
std::string compared_json(const Comparison& comparison, const ComparedSide& actual,
                          const ComparedSide& desired);

/// True if the numbers of both sides could be compared.
bool has_compared_numbers(const ComparedStep& step);

/// Returns the tensor with named or labelled axes; of two alike, the one of lower rank.
const Tensor& best_labelled_tensor(const ComparedStep& step);

/// Returns the name of a cell: `scores[head 1,cat,fat]`
std::string cell_name(const ComparedStep& step, std::size_t place);

/// Returns the largest difference of two finite numbers in units in the last place of the array's
/// type, or of its last decimal.
double largest_in_last_places(const ComparedStep& step);

/// What was compared, and what could not be, on our side and theirs.
struct Coverage {
  std::size_t compared = 0;
  std::vector<std::string> missing;  ///< steps of ours
  std::vector<std::string> unknown;  ///< arrays of theirs
};

Coverage coverage_of(const Comparison& comparison, const ComparedSide& actual);

}  // namespace qkv::inline verdicts
