#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/parsed_array.hpp"
#include "tensor/compare.hpp"

namespace qkv {

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
bool goes_by_largest(Precision precision);

/// What suits two programs' arrays of a precision, for sums of so many terms beside `desired`:
/// PyTorch's tolerance times the root of the terms. In half precision a sum of large terms that
/// comes out near 0 is off by what they were rounded by, far more than PyTorch's atol: that is the
/// least.
Tolerance tolerance_of_dumps(Precision precision, std::span<const double> desired,
                             std::size_t terms);

/// What suits numbers that were both worked out here, in float64.
Tolerance tolerance_of_lessons(std::span<const double> desired);

}  // namespace qkv
