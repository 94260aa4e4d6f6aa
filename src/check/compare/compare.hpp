#pragma once

#include "check/check.hpp"
#include "check/compare/side.hpp"

namespace qkv::inline check {

enum class Agreement {
  identical,    ///< identical bits
  close,        ///< within the tolerance
  follows,      ///< outside it, but follows from an earlier step that differs
  differs,      ///< outside it
  undecided,    ///< outside it, and rounding could have produced it, or it may be another step
  other_shape,  ///< not comparable
  only_actual,  ///< missing from the other side
  only_desired,
};

/// Numbers that may stand for -inf: none; in scores those that programs use as masks; from a mask
/// onwards any from -1000 down.
enum class FiniteMasks { none, usual, any };

/// One step's matrices, side by side.
struct ComparedStep {
  std::string name;
  Agreement agreement = Agreement::identical;
  const ComparedMatrix* actual = nullptr;  ///< nullptr if there is none
  const ComparedMatrix* desired = nullptr;
  Precision precision = Precision::float64;  ///< the coarser of the two
  Tolerance tolerance = {};
  std::size_t terms = 0;  ///< number of summed terms in the tolerance; 0 if it is not the default
  Difference difference = {};
  /// Number of cells where one side has -inf and the other a finite mask; not mismatches.
  std::size_t finite_masks = 0;
  std::optional<StepReport> judged = {};     ///< check's report, if the step differs from a lesson
  FiniteMasks may_mask = FiniteMasks::none;  ///< what stands for -inf in it
  bool only_shape_differs = false;           ///< the same numbers in the same order
  /// Of a printed part whose numbers are right, but whose sum is wrong: the right one.
  std::optional<double> expected_sum = {};
};

/// Returns how many numbers of a step are printed, if a side has a part of them; else 0.
std::size_t printed_of(const ComparedStep& step);

/// Returns a dump's own name for a step of both sides, if it may be another step; else an empty one.
std::string_view open_name_of(const ComparedStep& step);

/// Where the first difference arises: after the last step before it that agrees, in one of the
/// steps between or in itself.
struct Bisection {
  std::string agrees = {};  ///< empty if nothing before it was submitted
  std::string differs;
  /// Between the two. Operands of steps that agree are the least suspect: they stand last.
  std::vector<std::string> not_submitted = {};
  bool has_undecided = false;  ///< some were submitted, but undecided or the last row alone
  std::string dump = {};       ///< of these, the one that halves the search
};

struct Comparison {
  std::vector<ComparedStep> steps;  ///< in the lesson's order, or a file's
  bool by_name = false;             ///< they are sorted by name: neither side tells their order
  /// The first step that differs, has another shape, or is missing from a whole lesson.
  std::optional<std::size_t> first;

  /// The lesson with the program's own numbers, if exactly one side is a lesson.
  std::optional<Trace> own = {};

  std::vector<std::string> maps = {};  ///< "theirs=ours": an unmatched array and its likely step
  std::optional<Bisection> bisection = {};  ///< if it was requested, and a step differs

  /// Sides that are an export's files without its manifest. If such a side lacks a step, it was
  /// truncated, and equals no other.
  std::vector<std::string> incomplete_exports = {};
  bool cut_short = false;

  bool same() const { return !first.has_value() && !cut_short; }
};

/// True if only one side has the step.
bool is_missing(Agreement agreement);

/// The steps of our side that must be present: all, or those named.
struct Required {
  bool all = false;
  std::vector<std::string> names = {};
};

/// Returns what `check` says of a program's numbers; nothing if there are none. Steps with a
/// requested tolerance are left out. NaN is never right. Moves the parsed arrays out of `program`.
/// What is accepted in another layout (tokens as columns, heads inside) is laid out as the
/// lesson's.
std::optional<CheckReport> check_program(const Lesson& lesson, const Trace& trace,
                                         const ToleranceChoice& choice, ComparedSide& program,
                                         bool allow_columns);

/// Compares two sides step by step, matched by name; leading axes of size 1 are ignored. The sides
/// must outlive the result. A matrix on one side only is a difference if both are whole lessons. If
/// there is a check of the one that is no lesson, each step has its verdict. Throws InputError if a
/// dump shares no name with the other side, or if a file is unreadable whose matrix the other side
/// has.
Comparison compare(const ComparedSide& actual, const ComparedSide& desired,
                   const ToleranceChoice& choice, std::optional<CheckReport> checked = {});

/// Returns the first step that makes the sides differ; of two whole sides a missing step counts.
std::optional<std::size_t> first_difference(const Comparison& comparison, bool both_whole);

/// Returns where the first difference arises in the lesson's graph; nothing if no step differs.
std::optional<Bisection> bisect(const Comparison& comparison, const Trace& trace);

/// Returns the first of these maps as options of a command.
std::string map_options(const std::vector<std::string>& maps);

/// Reports a required step without an array as the first difference, unless an earlier step
/// differs. Throws InputError for a name that neither side has.
void require(const Required& required, const ComparedSide& ours, Comparison& comparison);

}  // namespace qkv::inline check
