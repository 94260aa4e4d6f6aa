#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensor/values.hpp"

namespace qkv::inline tensor {

using Shape = std::vector<std::size_t>;

/// Labels of the indices of an axis. Immutable; copies share one list.
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
  std::shared_ptr<const All> all_;  // nullptr if empty
};

/// One axis of a tensor: its name, size and labels.
struct Axis {
  std::string name;  ///< "query", "d_k", "head"; empty if unknown
  std::size_t size = 0;
  /// Empty; one for each index; or, if the sentences of a batch have their own words, one for each
  /// index of each sentence, sentence by sentence.
  AxisLabels labels = {};

  /// Returns the label of index `i` in sentence `batch`; may be empty.
  std::string_view label(std::size_t i, std::size_t batch = 0) const;
};

/// Row-major numbers with named, labelled axes. The last two axes are the matrix, leading axes are
/// batch and heads. A tensor of one axis is a matrix of one row.
struct Tensor {
  std::vector<Axis> axes;
  Values values;
  /// If the cells are dot products, the number of terms of each (the d_k behind the scores).
  std::size_t dot_width = 0;

  std::size_t rank() const { return axes.size(); }
  std::size_t rows() const { return rank() < 2 ? 1 : axes[rank() - 2].size; }
  std::size_t columns() const { return axes.back().size; }
  std::size_t leading_axes() const { return rank() < 2 ? 0 : rank() - 2; }
  std::size_t matrices() const;  ///< product of the leading sizes
  Shape shape() const;
  Axis row_axis() const;  ///< an unnamed axis of size 1 if the rank is 1

  /// Return the numbers of one matrix, row by row.
  std::span<const double> cells(std::size_t matrix_index) const;
  std::span<double> mutable_cells(std::size_t matrix_index);

  /// Return a view of one matrix as an xtensor expression.
  /// Example: `xt::noalias(twice.mutable_matrix(0)) = 2 * once.matrix(0);`
  MatrixView matrix(std::size_t index) const {
    return view_as<2>(cells(index), {rows(), columns()});
  }
  MutableMatrixView mutable_matrix(std::size_t index) {
    return view_as<2>(mutable_cells(index), {rows(), columns()});
  }

  /// Returns all numbers as an array of N axes, so that formulas broadcast over heads and batch.
  /// Missing axes have size 1; surplus leading axes are merged. Example: for [head row column]
  /// `xt::transpose(heads.array<3>(), {1, 0, 2})`.
  template <std::size_t N = 3>
  ArrayView<N> array() const {
    return view_as<N>(values, sizes<N>());
  }
  template <std::size_t N = 3>
  MutableArrayView<N> mutable_array() {
    return view_as<N>(values.mutable_span(), sizes<N>());
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

/// A tensor's axes by their role, so that one can be changed, added or left out.
struct AxisRoles {
  std::vector<Axis> outer;    ///< the leading axes outside `heads`
  std::optional<Axis> heads;  ///< the innermost leading axis, if there is one
  Axis rows;                  ///< of size 1 if the tensor has one axis
  Axis columns;

  explicit AxisRoles(const Tensor& tensor);
  std::vector<Axis> all() const;  ///< in order, two at least
};

/// Returns a tensor of zeros. Example: `zeros({{"query", 3}, {"key", 3}})`.
Tensor zeros(std::vector<Axis> axes);
/// Returns a tensor with uninitialised cells, so that large ones are not filled twice.
Tensor uninitialised(std::vector<Axis> axes);

/// The same with the axes and the dot width of another tensor.
Tensor uninitialised_like(const Tensor& other);

/// Returns a tensor with unnamed axes. Throws std::logic_error if shape and values do not fit.
Tensor tensor_of(const Shape& shape, Values values);

/// Returns the tensor with at least two axes.
Tensor as_matrix(Tensor tensor);

/// Swaps the last two axes of every matrix. A tensor of one axis is unchanged.
Tensor transposed(const Tensor& tensor);

/// Returns how many numbers a shape holds. Throws InputError, with `what`, if they exceed
/// `memory_limit` together with those reserved by `MemoryBudget`.
std::size_t element_count(const Shape& shape, std::string_view what);

/// Returns "7×2", or "7" for one axis.
std::string shape_text(const Shape& shape);

/// Returns the index of matrix `index` along each leading axis, outermost first.
std::vector<std::size_t> leading_index(const Tensor& tensor, std::size_t index);

/// Whether a token is shown as a row or as a column. Internally it is always a row.
enum class TokenLayout { rows, columns };

/// True if `as_shown` transposes this tensor. Vectors and token ids are never transposed.
bool is_shown_transposed(const Tensor& tensor, TokenLayout token_layout);

/// Returns the tensor as displayed: transposed if tokens are columns.
Tensor as_shown(const Tensor& tensor, TokenLayout token_layout);

/// Returns the displayed shape, "7×2".
std::string shown_shape(const Tensor& tensor, TokenLayout token_layout);

}  // namespace qkv::inline tensor
