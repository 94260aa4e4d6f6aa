#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/axis.hpp"
#include "tensor/values.hpp"

namespace qkv {

/// Numbers in row-major order with named, labelled axes. The last two axes are the matrix, those
/// before it are the batch and the heads; a tensor of one axis is a matrix of one row.
struct Tensor {
  std::vector<Axis> axes;
  Values values;
  /// Where the cells are dot products: how many terms each adds up (the d_k behind the scores).
  std::size_t dot_width = 0;

  std::size_t rank() const { return axes.size(); }
  std::size_t rows() const { return rank() < 2 ? 1 : axes[rank() - 2].size; }
  std::size_t columns() const { return axes.back().size; }
  std::size_t leading_axes() const { return rank() < 2 ? 0 : rank() - 2; }
  std::size_t matrices() const;  ///< how many matrices the leading axes count out
  Shape shape() const;
  Axis row_axis() const;  ///< of a tensor of one axis: a nameless one of size 1

  /// The numbers of one matrix, row by row; to be written with `write_cells`.
  std::span<const double> cells(std::size_t matrix_index) const;
  std::span<double> write_cells(std::size_t matrix_index);

  /// One matrix as xtensor sees it, for a formula; to be written with `write_matrix`.
  /// Example: `xt::noalias(twice.write_matrix(0)) = 2 * once.matrix(0);`
  MatrixView matrix(std::size_t index) const {
    return seen_as<2>(cells(index), {rows(), columns()});
  }
  MatrixToWrite write_matrix(std::size_t index) {
    return seen_as<2>(write_cells(index), {rows(), columns()});
  }

  /// All numbers as an array of N axes, so that a formula broadcasts over heads and batch: missing
  /// axes are of size 1, and where there are more, the first ones count as one.
  /// Example: of heads [head row column] `xt::transpose(heads.array<3>(), {1, 0, 2})`.
  template <std::size_t N = 3>
  ArrayView<N> array() const {
    return seen_as<N>(values, sizes<N>());
  }
  template <std::size_t N = 3>
  ArrayToWrite<N> write_array() {
    return seen_as<N>(values.write(), sizes<N>());
  }

  double at(std::size_t matrix_index, std::size_t row, std::size_t column) const;

 private:
  template <std::size_t N>
  std::array<std::size_t, N> sizes() const {
    std::array<std::size_t, N> result;
    result.fill(1);
    for (std::size_t a = 0; a < rank(); ++a) {
      const std::size_t from_the_end = rank() - a;
      result[from_the_end > N ? 0 : N - from_the_end] *= axes[a].size;
    }
    return result;
  }
};

/// A tensor of zeros. Example: `zeros({{"query", 3}, {"key", 3}})`.
Tensor zeros(std::vector<Axis> axes);
/// One whose every cell is yet to be written: large ones would otherwise be filled twice.
Tensor unwritten(std::vector<Axis> axes);

/// The same with the axes of another tensor whose cells are as wide dot products.
Tensor unwritten_like(const Tensor& other);

/// A tensor with unnamed axes. Throws std::logic_error where the shape does not fit the values.
Tensor tensor_of(const Shape& shape, Values values);

/// The tensor as one of at least two axes.
Tensor as_matrix(Tensor tensor);

/// The last two axes exchanged, in every matrix; a tensor of one axis stays as it is.
Tensor transposed(const Tensor& tensor);

/// How many numbers a shape holds. Throws InputError, naming `what`, where they would not fit into
/// `memory_limit` beside those that the lesson has already.
std::size_t count_of(const Shape& shape, std::string_view what);

/// "7×2"; a tensor of one axis is "7".
std::string shape_text(const Shape& shape);

/// The index along each leading axis of matrix `index`, outermost first.
std::vector<std::size_t> leading_index(const Tensor& tensor, std::size_t index);

}  // namespace qkv
