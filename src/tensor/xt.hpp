#pragma once

#include <xtensor/xadapt.hpp>
#include <xtensor/xbuilder.hpp>
#include <xtensor/xmanipulation.hpp>
#include <xtensor/xmath.hpp>
#include <xtensor/xnoalias.hpp>
#include <xtensor/xtensor.hpp>
#include <xtensor/xvectorize.hpp>
#include <xtensor/xview.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include "tensor/huge_pages.hpp"

// The door to xtensor: no other file includes its headers. Containers and views have their rank in
// their type, since those of any rank are broken in C++20 (xtensor 0.24.3). What adds up or picks
// out along an axis goes through the functions below, which return what they found: left lazy
// inside an expression, xtensor reads it past its end.

namespace qkv::inline tensor {

/// Numbers that own their memory. `from_shape` leaves them yet to be written.
template <std::size_t N>
using Array = xt::xtensor<double, N, xt::layout_type::row_major, HugePages<double>>;

/// A row of numbers. Example: `Vector::from_shape({n})`
using Vector = Array<1>;

/// A matrix: what a formula's result is put into before it is used again.
using Matrix = Array<2>;

/// Numbers that lie elsewhere, or elements of another type, seen as an array of rank N.
template <std::size_t N, class T = double>
using ArrayView =
    xt::xtensor_adaptor<xt::xbuffer_adaptor<const T*, xt::no_ownership, std::allocator<T>>, N,
                        xt::layout_type::row_major>;
/// The same to be written to: `xt::noalias(array) = formula` without a copy in between.
template <std::size_t N, class T = double>
using MutableArrayView =
    xt::xtensor_adaptor<xt::xbuffer_adaptor<T*, xt::no_ownership, std::allocator<T>>, N,
                        xt::layout_type::row_major>;
using MatrixView = ArrayView<2>;
using MutableMatrixView = MutableArrayView<2>;

/// `numbers` seen in that shape, whose sizes multiply to as many as they are; to be written to
/// where they may be.
template <std::size_t N, class Numbers>
auto view_as(Numbers&& numbers, const std::array<std::size_t, N>& shape) {
  const std::span all(numbers);
  using T = typename decltype(all)::element_type;
  static T none = {};  // xtensor steps back from the end of an empty array, too
  T* first = all.empty() ? &none : all.data();
  return xt::adapt(std::move(first), all.size(), xt::no_ownership(), shape);
}

/// The work of `put`: row-major numbers from places so far apart along each axis.
void copy_strided(const double* from, const std::array<std::size_t, 4>& sizes,
                  const std::array<std::ptrdiff_t, 4>& steps, std::span<double> to);

/// Writes a transposed view: the same numbers, each at another place, several rows at a
/// time where they are many.
/// Example: `put(xt::transpose(view_as<3>(x, {n, h, d}), {1, 0, 2}), heads)`
template <class View>
void put(const View& from, std::span<double> to) {
  const auto& shape = from.shape();
  const auto& strides = from.strides();
  std::array<std::size_t, 4> sizes = {1, 1, 1, 1};
  std::array<std::ptrdiff_t, 4> steps = {};
  for (std::size_t a = 0, at = sizes.size() - shape.size(); a < shape.size(); ++a, ++at) {
    sizes[at] = shape[a];
    steps[at] = strides[a];
  }
  copy_strided(from.data() + from.data_offset(), sizes, steps, to);
}

/// Along which direction a matrix is added up: each of its rows (a result of one column), or each
/// of its columns (a result of one row).
enum class Along { rows, columns };

/// The largest number of each row or column. Example: of [[1, 3], [2, 0]] it is [[3], [2]].
Matrix maxima(const Matrix& matrix, Along along = Along::rows);
double max_of(std::span<const double> line);
/// The sum of each row or column, added in order.
Matrix sums(const Matrix& matrix, Along along = Along::rows);
/// The sum of all numbers, added in order.
double total(const Matrix& matrix);
/// The mean of each row or column.
Matrix means(const Matrix& matrix, Along along = Along::rows);
/// The mean square distance from the mean; divided by the count less `less` (1: a sample's).
Matrix variances(const Matrix& matrix, Along along = Along::rows, double less = 0);

}  // namespace qkv::inline tensor
