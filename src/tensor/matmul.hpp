#pragma once

#include "tensor/tensor.hpp"

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

/// Computes the softmax of one row of a large tensor. e^x is a polynomial, accurate to one unit in
/// the last place; the sum has eight parts. The bits are the same on every machine, but differ from
/// those of std::exp and a sum from left to right. Weights of scores more than 708 below the
/// largest are 0. Returns false, and writes nothing, if the largest score is infinite.
bool softmax_row(std::span<const double> scores, std::span<double> weights);

/// Replaces each x by tanh x, for rows of large tensors; off by at most two units in the last place
/// of 1. NaN stays NaN.
void tanh_row(std::span<double> cells);

/// True if no value is infinite or NaN.
bool all_finite(std::span<const double> values);

/// Returns the largest magnitude of the finite numbers, or 0.
double largest_magnitude(std::span<const double> values);

bool has_nan(std::span<const double> values);

}  // namespace qkv::inline tensor
