#pragma once

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "check/check.hpp"
#include "check/grading/marks.hpp"
#include "trace/trace.hpp"

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

/// Returns one matrix of a step with the learner's numbers and a mark behind each. If it is too
/// large for the screen or has more than `max_rows`, lines with errors come first, and a note says
/// what is left out. `own` is the lesson with the learner's numbers.
std::string marked_grid(const StepReport& step, const Trace& own, std::size_t index,
                        const CheckStyle& style, std::size_t max_rows = 24);

/// Returns a cell's position, counted from 1: its head and batch, its row and its column.
nlohmann::ordered_json cell_json(const CellReference& cell, const Tensor& tensor,
                                 TokenLayout token_layout);

}  // namespace qkv::inline verdicts
