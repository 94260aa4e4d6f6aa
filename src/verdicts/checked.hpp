#pragma once

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "check/check.hpp"
#include "check/grading/marks.hpp"
#include "trace/reference.hpp"

namespace qkv::inline verdicts {

/// Whether a report may say what the right numbers are.
enum class Answers { shown, kept };

/// Of right numbers in another shape.
inline constexpr std::string_view only_the_shape_text =
    "The numbers and their order are right: only the shape is not.";

/// Which matrices are shown cell by cell.
enum class Grids { wrong_ones, all };

struct CheckStyle {
  std::size_t width = 80;
  bool colour = false;
  Answers answers = Answers::shown;
  Grids grids = Grids::wrong_ones;
  std::string lesson = {};  ///< as `qkv explain` takes it; empty where nothing can be explained
};

/// A path that was handed in, and what came of it.
struct CheckedPath {
  std::string path;
  std::optional<CheckReport> report;  ///< nothing where it can't be read
  std::string failure;                ///< why
};

/// The report as a learner reads it: step by step, a mark in each cell of what is wrong, the first
/// wrong cell with its arithmetic, the mistake that makes it, and what only follows from it.
std::string checked_text(const CheckReport& report, const CheckStyle& style);

/// The arithmetic of a step's first wrong cell from the learner's own numbers: "0.21 / √2 = 0.148".
/// Long sums lose their middle. Empty where there is none, or none of at most `longest` columns.
std::string checked_arithmetic(const Trace& own, const StepReport& step, std::size_t longest);

/// Where the wrong cells of a step are, and the mistakes that make them, in lines of their own.
std::string checked_causes(const Trace& own, const StepReport& step, const CheckStyle& style);

/// The reports as schemas/check.schema.json has them: an object or, of several, a list of them.
std::string checked_json(const std::vector<CheckedPath>& all, const Lesson& lesson,
                         Answers answers);

/// One line: the verdict, the first wrong step and its mistake, its marks.
std::string checked_line(const CheckedPath& one, const Rubric& scheme);

/// A CSV table of a class: a row for each submission with its marks, and those of each step. Those
/// that could not be read get none, and the reason.
std::string summary_csv(const std::vector<CheckedPath>& all, const Rubric& scheme);

/// A learner's number as it was written, or nearly: with the decimals of its matrix.
std::string learner_number(double value, int digits);

/// The mark of a verdict: ✓ ≈ → ✗ ·
std::string_view verdict_sign(Verdict verdict);

/// What the marks behind the numbers mean, on as many lines as it takes.
std::string verdict_legend(const CheckStyle& style);

/// One matrix of a step as the learner has it, with a mark behind each number. Where it is too
/// large for the screen, lines with something wrong go first, and what is left out is told. `own`
/// is the lesson with the learner's numbers.
std::string marked_grid(const StepReport& step, const Trace& own, std::size_t index,
                        const CheckStyle& style);

/// JSON has no infinities and no NaN: they are the strings "inf", "-inf" and "nan".
nlohmann::ordered_json json_number(double value);

/// Where a cell stands, as people count: its head and batch, its row and its column.
nlohmann::ordered_json cell_json(const CellReference& cell, const Tensor& tensor,
                                 TokenLayout token_layout);

}  // namespace qkv::inline verdicts
