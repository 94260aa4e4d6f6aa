#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "tensor/values.hpp"

namespace qkv::inline tensor {

/// How the right-hand matrix of a product is stored: inner × columns, or transposed, columns ×
/// inner, so that the product uses its transpose.
enum class RightSide { as_is, transposed };

struct ProductSize {
  std::size_t rows = 0;
  std::size_t inner = 0;
  std::size_t columns = 0;
};

/// Computes out [rows × columns] = a [rows × inner] · b, row-major and contiguous. Small products
/// add their terms from left to right, so that a lesson has the same bits on every machine; larger
/// ones use BLAS. Throws std::logic_error if the spans do not fit the size.
void multiply(std::span<const double> a, std::span<const double> b, std::span<double> out,
              ProductSize size, RightSide right);

/// The same, to the last bit, with the right-hand matrix that starts at index `first` of `numbers`.
/// A large lazy one is computed a piece at a time and never stored whole.
void multiply(std::span<const double> a, const Values& numbers, std::size_t first,
              std::span<double> out, ProductSize size, RightSide right);

/// Calls `one(m)` for each of `count` products of that size, in parallel if the work is large.
void for_each_product(std::size_t count, ProductSize size,
                      const std::function<void(std::size_t)>& one);

/// Computes a · b; each cell adds its products from left to right: the same bits on every machine.
void multiply_in_order(const double* a, const double* b, double* out, ProductSize size);

/// Computes a · bᵀ in the same order.
void multiply_transposed_in_order(const double* a, const double* b, double* out, ProductSize size);

}  // namespace qkv::inline tensor
