#pragma once

#include <optional>
#include <string>
#include <vector>

#include "check/side.hpp"
#include "tensor/compare.hpp"

namespace qkv {

/// What is asked for; without either, what suits the precision of the numbers. Of one alone the
/// other is as numpy.testing.assert_allclose has it: rtol 1e-7, atol 0.
struct ToleranceChoice {
  std::optional<double> relative = {};
  std::optional<double> absolute = {};
};

/// The tolerance for numbers of a precision, and whose it is.
struct UsualTolerance {
  Precision precision;
  std::string_view name;  ///< "float32"
  Tolerance tolerance;
  std::string_view whose;  ///< "torch.testing.assert_close"
};

/// float64 and digits: as numpy.testing.assert_allclose has it. What keeps fewer bits: as
/// torch.testing.assert_close has it.
const UsualTolerance& usual_tolerance(Precision precision);

enum class Sameness {
  identical,    ///< to the last bit
  close,        ///< within the tolerance
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
  Difference difference = {};
  /// So many mismatches more are none: a number so low that it hides, where -inf is due.
  std::size_t finite_masks = 0;
  bool only_the_shape = false;  ///< the same numbers in the same order, in another shape
};

struct Comparison {
  std::vector<ComparedStep> steps;  ///< in the lesson's order
  /// The first step that differs, has another shape, or is missing from a whole lesson.
  std::optional<std::size_t> first;

  bool same() const { return !first.has_value(); }
};

/// Compares two sides step by step, matched by name; leading axes of size 1 don't count. The sides
/// must outlive the result. A matrix that only one has counts as a difference where both are whole
/// lessons. Throws InputError where a dump has nothing in common with the other side, and where a
/// file could not be read whose matrix the other side has.
Comparison compare(const Side& actual, const Side& desired, const ToleranceChoice& choice);

}  // namespace qkv
