#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "tensor/values.hpp"

namespace qkv::inline tensor {

/// How the right-hand matrix of a product is stored: as it stands (inner × columns) or turned over
/// (columns × inner), so that the product uses its transpose.
enum class RightSide { as_is, transposed };

struct ProductSize {
  std::size_t rows = 0;
  std::size_t inner = 0;
  std::size_t columns = 0;
};

/// out [rows × columns] = a [rows × inner] · b, all row-major and contiguous. Products of teaching
/// size add their terms from left to right, so that a lesson has the same bits on every machine;
/// larger ones go to BLAS. Throws std::logic_error where the spans do not fit the size.
void multiply(std::span<const double> a, std::span<const double> b, std::span<double> out,
              ProductSize size, RightSide right);

/// The same, to the last bit, with a right-hand matrix that begins at `first` among `numbers` and
/// whose lines are theirs. Where they are recomputed, a large one is made a piece at a time and is
/// never there all at once.
void multiply(std::span<const double> a, const Values& numbers, std::size_t first,
              std::span<double> out, ProductSize size, RightSide right);

/// Calls `one(m)` for each of `count` products of that size, several at a time where they are
/// large.
void for_each_product(std::size_t count, ProductSize size,
                      const std::function<void(std::size_t)>& one);

/// a · b into `out`, each cell's products added from left to right: the same bits on every machine.
void multiply_in_order(const double* a, const double* b, double* out, ProductSize size);

/// a · bᵀ, the same way.
void multiply_transposed_in_order(const double* a, const double* b, double* out, ProductSize size);

}  // namespace qkv::inline tensor
