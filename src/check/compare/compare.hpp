#pragma once

#include <optional>
#include <string>
#include <vector>

#include "check/check.hpp"
#include "check/compare/side.hpp"
#include "check/compare/tolerance.hpp"

namespace qkv {

enum class Sameness {
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
  Sameness sameness = Sameness::identical;
  const SideMatrix* actual = nullptr;  ///< nullptr where there is none
  const SideMatrix* desired = nullptr;
  Precision precision = Precision::float64;  ///< the coarser of the two
  Tolerance tolerance = {};
  std::size_t terms = 0;  ///< that the tolerance allows for; 0 where it is not the usual one
  Difference difference = {};
  /// So many mismatches more are none: a number so low that it hides, where -inf is due.
  std::size_t finite_masks = 0;
  std::optional<StepReport> judged = {};  ///< what check says of it, where it differs from a lesson
  bool after_mask = false;                ///< the step, or one before it, sets cells to -inf
  bool only_the_shape = false;            ///< the same numbers in the same order, in another shape
};

struct Comparison {
  std::vector<ComparedStep> steps;  ///< in the lesson's order
  /// The first step that differs, has another shape, or is missing from a whole lesson.
  std::optional<std::size_t> first;

  /// The lesson with the program's own numbers, where one side is a lesson and one is not.
  std::optional<Trace> own = {};

  /// The sides that are files of an export without its list. Where one lacks a step, it was cut
  /// short, and is not the same as any other.
  std::vector<std::string> half_exports = {};
  bool cut_short = false;

  bool same() const { return !first.has_value() && !cut_short; }
};

/// Whether a step is one that only one side has.
bool is_missing(Sameness sameness);

/// The steps that must be there, of all those of ours: "all", or their names.
struct Required {
  bool all = false;
  std::vector<std::string> names = {};
};

/// Compares two sides step by step, matched by name; leading axes of size 1 don't count. The sides
/// must outlive the result. A matrix that only one has counts as a difference where both are whole
/// lessons. Throws InputError where a dump has nothing in common with the other side, and where a
/// file could not be read whose matrix the other side has.
Comparison compare(const Side& actual, const Side& desired, const ToleranceChoice& choice);

/// The first step, if any, that makes the two differ; of two whole sides one that is missing
/// counts.
std::optional<std::size_t> first_difference(const Comparison& comparison, bool both_whole);

/// Of two sides the one whose steps are due: a lesson or model, else the second.
const Side& ours_of(const Side& actual, const Side& desired);

/// Makes what is required and has no array the first difference, where nothing differs before it.
/// Throws InputError for a name that neither side has.
void require(const Required& required, const Side& ours, Comparison& comparison);

}  // namespace qkv
