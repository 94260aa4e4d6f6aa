#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "tensor/tensor.hpp"

namespace qkv::inline tensor {

/// How far numbers may lie apart: |actual − desired| ≤ absolute + relative · |desired|, as NumPy
/// has it, or the least if that is more. NaN is close to NaN, an infinity to the same infinity, and
/// to nothing else.
struct Tolerance {
  double relative = 0;
  double absolute = 0;
  double least = 0;
};

/// How two arrays of one size differ.
struct Difference {
  std::size_t elements = 0;
  std::size_t mismatched = 0;        ///< not within the tolerance
  std::size_t nan_mismatched = 0;    ///< of these, where one of the two is NaN
  std::size_t nan_both = 0;          ///< NaN on both sides, which is no mismatch
  double largest_absolute = 0;       ///< over all elements, those within the tolerance as well
  double largest_relative = 0;       ///< over those whose desired number is not 0; inf if none is
  std::optional<std::size_t> first;  ///< the place of the first mismatch
  bool identical = true;             ///< the same numbers to the last bit (0 and −0 are the same)
};

bool is_close(double actual, double desired, const Tolerance& tolerance);

/// Compares element by element. Where one of two is NaN, their difference has no size: it counts as
/// a mismatch only. Throws std::logic_error where the sizes differ.
Difference difference_of(std::span<const double> actual, std::span<const double> desired,
                         const Tolerance& tolerance);

/// Whether a number is another one than before, beyond the last bits in which sums differ that are
/// added in another order.
bool differs(double now, double before);

/// Whether each cell of `now` has the one of `before` that it was: the same shape and labels.
bool comparable(const Tensor& now, const Tensor& before);

/// Whether any number differs, or shape or labels do.
bool differs(const Tensor& now, const Tensor& before);

}  // namespace qkv::inline tensor
