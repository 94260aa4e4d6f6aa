#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "check/check.hpp"
#include "check/compare/side.hpp"
#include "formats/parsed_array.hpp"
#include "tensor/compare.hpp"

namespace qkv::inline check {

/// A tolerance for the steps that a pattern fits, absolute and relative.
struct StepTolerance {
  std::string steps;  ///< with at most one *
  double tolerance = 0;
};

/// What is asked for; without any, what suits the numbers. Of rtol and atol alone the other is as
/// numpy.testing.assert_allclose has it: rtol 1e-7, atol 0.
struct ToleranceChoice {
  std::optional<double> relative = {};
  std::optional<double> absolute = {};
  std::vector<StepTolerance> of_steps = {};

  /// The tolerance that was asked for these numbers; nothing where none was.
  std::optional<Tolerance> of(std::string_view step) const;
};

/// The tolerance for numbers of a precision.
struct UsualTolerance {
  Precision precision;
  std::string_view name;  ///< "float32"
  Tolerance tolerance;
};

/// As torch.testing.assert_close has it.
const UsualTolerance& usual_tolerance(Precision precision);

/// Whether numbers of a precision may be off by what the largest of them was rounded by.
bool uses_largest(Precision precision);

/// What suits two programs' arrays of a precision, for sums of so many terms beside `desired`:
/// PyTorch's tolerance times the root of the terms. In half precision a sum of large terms that
/// comes out near 0 is off by what they were rounded by, far more than PyTorch's atol: that is the
/// least.
Tolerance tolerance_of_dumps(Precision precision, std::span<const double> desired,
                             std::size_t terms);

/// What suits numbers that were both worked out here, in float64.
Tolerance tolerance_of_lessons(std::span<const double> desired);

enum class Agreement {
  identical,    ///< to the last bit
  close,        ///< within the tolerance
  follows,      ///< not, but it follows from a step before it that differs
  differs,      ///< not
  other_shape,  ///< can't be compared
  only_actual,  ///< the other side lacks it
  only_desired,
};

/// One step's matrices, side by side.
struct ComparedStep {
  std::string name;
  Agreement agreement = Agreement::identical;
  const ComparedMatrix* actual = nullptr;  ///< nullptr where there is none
  const ComparedMatrix* desired = nullptr;
  Precision precision = Precision::float64;  ///< the coarser of the two
  Tolerance tolerance = {};
  std::size_t terms = 0;  ///< that the tolerance allows for; 0 where it is not the usual one
  Difference difference = {};
  /// So many mismatches more are none: a number so low that it hides, where -inf is due.
  std::size_t finite_masks = 0;
  std::optional<StepReport> judged = {};  ///< what check says of it, where it differs from a lesson
  bool after_mask = false;                ///< the step, or one before it, sets cells to -inf
  bool only_shape_differs = false;        ///< the same numbers in the same order, in another shape
};

struct Comparison {
  std::vector<ComparedStep> steps;  ///< in the lesson's order
  /// The first step that differs, has another shape, or is missing from a whole lesson.
  std::optional<std::size_t> first;

  /// The lesson with the program's own numbers, where one side is a lesson and one is not.
  std::optional<Trace> own = {};

  /// The sides that are files of an export without its list. Where one lacks a step, it was cut
  /// short, and is not the same as any other.
  std::vector<std::string> incomplete_exports = {};
  bool cut_short = false;

  bool same() const { return !first.has_value() && !cut_short; }
};

/// Whether a step is one that only one side has.
bool is_missing(Agreement agreement);

/// The steps that must be there, of all those of ours: "all", or their names.
struct Required {
  bool all = false;
  std::vector<std::string> names = {};
};

/// Compares two sides step by step, matched by name; leading axes of size 1 don't count. The sides
/// must outlive the result. A matrix that only one has counts as a difference where both are whole
/// lessons. Throws InputError where a dump has nothing in common with the other side, and where a
/// file could not be read whose matrix the other side has.
Comparison compare(const ComparedSide& actual, const ComparedSide& desired,
                   const ToleranceChoice& choice);

/// The first step, if any, that makes the two differ; of two whole sides one that is missing
/// counts.
std::optional<std::size_t> first_difference(const Comparison& comparison, bool both_whole);

/// Of two sides the one whose steps are due: a lesson or model, else the second.
const ComparedSide& reference_side(const ComparedSide& actual, const ComparedSide& desired);

/// Makes what is required and has no array the first difference, where nothing differs before it.
/// Throws InputError for a name that neither side has.
void require(const Required& required, const ComparedSide& ours, Comparison& comparison);

/// Judges what a program wrote as check does, by the lesson that it is compared with: `program` is
/// one of the sides, whose numbers are taken out of it as they were written. Steps that have a
/// tolerance of their own stay as they are.
void judge_program(const Lesson& lesson, const Trace& trace, ComparedSide& program,
                   const ToleranceChoice& choice, Comparison& comparison);

}  // namespace qkv::inline check
