#pragma once

#include "text/prelude.hpp"

#include <xtensor/xadapt.hpp>
#include <xtensor/xbuilder.hpp>
#include <xtensor/xmanipulation.hpp>
#include <xtensor/xmath.hpp>
#include <xtensor/xnoalias.hpp>
#include <xtensor/xtensor.hpp>
#include <xtensor/xvectorize.hpp>
#include <xtensor/xview.hpp>

#include <new>

// No other file includes xtensor's headers. Containers and views have a static rank, since dynamic
// rank is broken in C++20 (xtensor 0.24.3). Reductions go through the functions below, which return
// containers: a lazy reducer in an expression reads out of bounds.

namespace qkv::inline tensor {

/// Allocates memory in huge pages where available, and reuses freed blocks. The first touch of a
/// page costs more than filling it, and is most of the time of a large attention otherwise. Throws
/// std::bad_alloc if the system or `memory_limit` (for all such arrays) allows no more.
void* allocate_huge_pages(std::size_t bytes);
void deallocate_huge_pages(void* memory, std::size_t bytes) noexcept;

/// An allocator for containers of numbers: from an eighth of a megabyte on they get huge pages.
template <class T>
struct HugePages {
  using value_type = T;

  HugePages() = default;
  template <class Other>
  HugePages(const HugePages<Other>&) {}

  T* allocate(std::size_t count) {
    if (count > SIZE_MAX / sizeof(T)) throw std::bad_alloc();
    return static_cast<T*>(allocate_huge_pages(count * sizeof(T)));
  }
  void deallocate(T* memory, std::size_t count) {
    deallocate_huge_pages(memory, count * sizeof(T));
  }

  template <class Other>
  bool operator==(const HugePages<Other>&) const {
    return true;
  }
};

/// An array that owns its memory. `from_shape` leaves it uninitialised.
template <std::size_t N>
using Array = xt::xtensor<double, N, xt::layout_type::row_major, HugePages<double>>;

/// A vector. Example: `Vector::from_shape({n})`
using Vector = Array<1>;

/// A matrix. Store the result of a formula in one before it is used again.
using Matrix = Array<2>;

/// A view of numbers, or of elements of another type, as an array of rank N.
template <std::size_t N, class T = double>
using ArrayView =
    xt::xtensor_adaptor<xt::xbuffer_adaptor<const T*, xt::no_ownership, std::allocator<T>>, N,
                        xt::layout_type::row_major>;
/// A writable view: `xt::noalias(array) = formula` copies nothing in between.
template <std::size_t N, class T = double>
using MutableArrayView =
    xt::xtensor_adaptor<xt::xbuffer_adaptor<T*, xt::no_ownership, std::allocator<T>>, N,
                        xt::layout_type::row_major>;
using MatrixView = ArrayView<2>;
using MutableMatrixView = MutableArrayView<2>;

/// Returns a view of `numbers` in that shape, whose sizes multiply to their count. It is writable
/// if the numbers are.
template <std::size_t N, class Numbers>
auto view_as(Numbers&& numbers, const std::array<std::size_t, N>& shape) {
  const std::span all(numbers);
  using T = typename decltype(all)::element_type;
  static T none = {};  // xtensor also steps back from the end of an empty array
  T* first = all.empty() ? &none : all.data();
  return xt::adapt(std::move(first), all.size(), xt::no_ownership(), shape);
}

/// Copies row-major numbers that lie `steps` apart along each axis, for `put`.
void copy_strided(const double* from, const std::array<std::size_t, 4>& sizes,
                  const std::array<std::ptrdiff_t, 4>& steps, std::span<double> to);

/// Writes a transposed view, in parallel if it is large.
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

/// The direction of a reduction: along each row (result n × 1) or each column (result 1 × n).
enum class Along { rows, columns };

/// Returns the maximum of each row or column. Example: of [[1, 3], [2, 0]] it is [[3], [2]].
Matrix maxima(const Matrix& matrix, Along along = Along::rows);
double max_of(std::span<const double> line);
/// Returns the sum of each row or column, added in order.
Matrix sums(const Matrix& matrix, Along along = Along::rows);
/// Returns the sum of all numbers, added in order.
double total(const Matrix& matrix);

}  // namespace qkv::inline tensor
