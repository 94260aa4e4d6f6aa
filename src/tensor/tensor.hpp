#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/values.hpp"

namespace qkv {

using Shape = std::vector<std::size_t>;

/// One direction of a tensor: what it counts, how many there are, and what each is called.
struct Axis {
  std::string name;  ///< "query", "d_k", "head"; empty where nothing is known
  std::size_t size = 0;
  /// None; one for each index; or, where the sentences of a batch have words of their own, one for
  /// each index of the first sentence, then of the second, and so on.
  std::vector<std::string> labels = {};

  /// The label of index `i` in sentence `batch`; empty where there is none.
  std::string_view label(std::size_t i, std::size_t batch = 0) const;
};

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

  std::span<const double> matrix(std::size_t index) const;
  std::span<double> matrix(std::size_t index);
  double at(std::size_t matrix_index, std::size_t row, std::size_t column) const;
};

/// A tensor of zeros. Example: `zeros({{"query", 3}, {"key", 3}})`.
Tensor zeros(std::vector<Axis> axes);
/// One whose every cell is yet to be written: large ones would otherwise be filled twice.
Tensor unwritten(std::vector<Axis> axes);

/// A tensor with unnamed axes. Throws std::logic_error where the shape does not fit the values.
Tensor tensor_of(const Shape& shape, Values values);

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
