#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensor/values.hpp"

namespace qkv::inline tensor {

using Shape = std::vector<std::size_t>;

/// What the places along an axis are called: one list that never changes, which all copies share.
class AxisLabels {
 public:
  AxisLabels() = default;
  AxisLabels(std::vector<std::string> labels)
      : all_(labels.empty() ? nullptr : std::make_shared<const All>(std::move(labels))) {}
  AxisLabels(std::initializer_list<std::string> labels) : AxisLabels(All(labels)) {}

  bool empty() const { return all_ == nullptr; }
  std::size_t size() const { return all_ ? all_->size() : 0; }
  const std::string* begin() const { return all_ ? all_->data() : nullptr; }
  const std::string* end() const { return begin() + size(); }
  const std::string& operator[](std::size_t i) const { return (*all_)[i]; }

  friend bool operator==(const AxisLabels& a, const AxisLabels& b) {
    return a.all_ == b.all_ || std::ranges::equal(a, b);
  }

 private:
  using All = std::vector<std::string>;
  std::shared_ptr<const All> all_;  // none where it would be empty
};

/// One direction of a tensor: what it counts, how many there are, and what each is called.
struct Axis {
  std::string name;  ///< "query", "d_k", "head"; empty where nothing is known
  std::size_t size = 0;
  /// None; one for each index; or, where the sentences of a batch have words of their own, one for
  /// each index of the first sentence, then of the second, and so on.
  AxisLabels labels = {};

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
  Axis row_axis() const;  ///< of a tensor of one axis: a nameless one of size 1

  /// The numbers of one matrix, row by row; to be written with `mutable_cells`.
  std::span<const double> cells(std::size_t matrix_index) const;
  std::span<double> mutable_cells(std::size_t matrix_index);

  /// One matrix as xtensor sees it, for a formula; to be written with `mutable_matrix`.
  /// Example: `xt::noalias(twice.mutable_matrix(0)) = 2 * once.matrix(0);`
  MatrixView matrix(std::size_t index) const {
    return view_as<2>(cells(index), {rows(), columns()});
  }
  MutableMatrixView mutable_matrix(std::size_t index) {
    return view_as<2>(mutable_cells(index), {rows(), columns()});
  }

  /// All numbers as an array of N axes, so that a formula broadcasts over heads and batch: missing
  /// axes are of size 1, and where there are more, the first ones count as one.
  /// Example: of heads [head row column] `xt::transpose(heads.array<3>(), {1, 0, 2})`.
  template <std::size_t N = 3>
  ArrayView<N> array() const {
    return view_as<N>(values, sizes<N>());
  }
  template <std::size_t N = 3>
  MutableArrayView<N> mutable_array() {
    return view_as<N>(values.write(), sizes<N>());
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
Tensor uninitialised(std::vector<Axis> axes);

/// The same with the axes of another tensor whose cells are as wide dot products.
Tensor uninitialised_like(const Tensor& other);

/// A tensor with unnamed axes. Throws std::logic_error where the shape does not fit the values.
Tensor tensor_of(const Shape& shape, Values values);

/// The tensor as one of at least two axes.
Tensor as_matrix(Tensor tensor);

/// The last two axes exchanged, in every matrix; a tensor of one axis stays as it is.
Tensor transposed(const Tensor& tensor);

/// How many numbers a shape holds. Throws InputError, naming `what`, where they would not fit into
/// `memory_limit` beside those that the lesson has already.
std::size_t element_count(const Shape& shape, std::string_view what);

/// "7×2"; a tensor of one axis is "7".
std::string shape_text(const Shape& shape);

/// The index along each leading axis of matrix `index`, outermost first.
std::vector<std::size_t> leading_index(const Tensor& tensor, std::size_t index);

/// Whether people see a token as a row or as a column. Inside, a token is always a row.
enum class TokenLayout { rows, columns };

/// Whether `as_shown` turns this tensor over: vectors and token ids stay as they are.
bool is_shown_transposed(const Tensor& tensor, TokenLayout token_layout);

/// The tensor as people see it: turned over where tokens are columns.
Tensor as_shown(const Tensor& tensor, TokenLayout token_layout);

/// The shape as people see it, "7×2".
std::string shown_shape(const Tensor& tensor, TokenLayout token_layout);

}  // namespace qkv::inline tensor
