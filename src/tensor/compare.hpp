#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "tensor/tensor.hpp"

namespace qkv::inline tensor {

/// The largest difference that counts as close: |actual − desired| ≤ absolute + relative ·
/// |desired|, as in NumPy, or `least` if that is more. NaN is close only to NaN, an infinity only
/// to the same infinity.
struct Tolerance {
  double relative = 0;
  double absolute = 0;
  double least = 0;
};

/// How two arrays of equal size differ.
struct Difference {
  std::size_t elements = 0;
  std::size_t mismatched = 0;        ///< outside the tolerance
  std::size_t nan_mismatched = 0;    ///< of these, with NaN on one side
  std::size_t nan_both = 0;          ///< NaN on both sides: no mismatch
  double largest_absolute = 0;       ///< over all elements, also within the tolerance
  double largest_relative = 0;       ///< over desired numbers other than 0; inf if none
  std::optional<std::size_t> first;  ///< index of the first mismatch
  bool identical = true;             ///< equal to the last bit, with 0 = −0
};

bool is_close(double actual, double desired, const Tolerance& tolerance);

/// Compares element by element. A pair with one NaN counts as a mismatch and has no difference.
/// Throws std::logic_error if the sizes differ.
Difference difference_of(std::span<const double> actual, std::span<const double> desired,
                         const Tolerance& tolerance);

/// How far two arrays are apart over the cells where both are finite.
struct ErrorStatistics {
  std::size_t cells = 0;
  double mean = 0;        ///< of |actual − desired|
  double percentile = 0;  ///< the 99th, interpolated as in NumPy
  double cosine = 0;      ///< of the angle between the two; 0 if one is all 0
};
ErrorStatistics error_statistics(std::span<const double> actual, std::span<const double> desired);

/// True if two numbers differ by more than summation order explains.
bool differs(double now, double before);

/// True if both tensors have the same shape and labels.
bool comparable(const Tensor& now, const Tensor& before);

/// True if shape, labels or any number differs.
bool differs(const Tensor& now, const Tensor& before);

}  // namespace qkv::inline tensor
