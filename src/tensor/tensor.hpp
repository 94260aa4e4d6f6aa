#pragma once

#include "tensor/xt.hpp"

namespace qkv::inline tensor {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

/// Transforms line `line` of a tensor in place, or fills the lines from `line` on.
using LineFunction = std::function<void(std::size_t line, std::span<double> cells)>;

/// A reusable buffer for the numbers that `Values::read` recomputes.
class Scratch : NotCopied {
 public:
  /// Returns room for `count` numbers. Earlier contents may be lost.
  std::span<double> of(std::size_t count);

 private:
  Vector numbers_;
};

/// The numbers of a tensor, copy-on-write. Stored in memory, or lazy: recomputed bit for bit from
/// another tensor or a file. Lazy ones are large and cheap results, such as scaled scores (two
/// stored matrices instead of four), and the weights of a model file. Readers need not distinguish
/// them; to go through large ones, use `read`.
/// Copies share their numbers until one is written to: do not keep a span from `mutable_span`
/// beyond a copy. If several threads write, take the span before they start.
class Values {
 public:
  using value_type = double;

  Values() = default;
  Values(const std::vector<double>& numbers);
  Values(std::initializer_list<double> numbers) : Values(std::vector<double>(numbers)) {}
  template <std::input_iterator It>
  Values(It first, It last) : Values(std::vector<double>(first, last)) {}

  Values(const Values&) = default;
  Values(Values&& other) noexcept { swap(other); }
  Values& operator=(const Values&) = default;
  Values& operator=(Values&& other) noexcept {
    Values taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~Values() = default;

  /// Returns `size` numbers to be written by the caller. A debug build fills them with NaN.
  static Values uninitialised(std::size_t size);

  /// Returns numbers computed from `from` by `work`, in lines of `width`.
  static Values lazy(const Values& from, std::size_t width, LineFunction work);

  /// Returns `size` numbers that `source` writes, the same at each call: whole lines of `width`,
  /// from `line` on. `transposed` has the numbers of each matrix transposed, if they are easier to
  /// read so. Throws std::logic_error if `size` is not a multiple of `width`.
  static Values lazy(std::size_t size, std::size_t width, LineFunction source,
                     std::shared_ptr<const Values> transposed = {});

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  bool are_stored() const { return !lazy_; }
  /// The numbers of each matrix transposed, where they are easier to read so; else nullptr.
  const Values* transposed() const;
  bool shares(const Values& other) const { return data_ == other.data_ && lazy_ == other.lazy_; }
  std::size_t stored_size() const { return lazy_ ? 0 : size_; }

  const double* data() const { return lazy_ ? recomputed(0, size_) : data_; }
  const double* begin() const { return data(); }
  const double* end() const { return data() + size_; }
  double operator[](std::size_t i) const { return lazy_ ? recomputed(i) : data_[i]; }

  /// Returns the numbers to write to. Copies them first if they are shared or lazy.
  std::span<double> mutable_span();

  /// Returns `count` numbers from `first` on. If lazy, only their blocks are computed.
  std::span<const double> part(std::size_t first, std::size_t count) const {
    return {lazy_ ? recomputed(first, count) : data_ + first, count};
  }

  /// The same. Whole lazy lines are computed into `scratch`, without the cache.
  std::span<const double> read(std::size_t first, std::size_t count, Scratch& scratch) const;

  /// Calls `work` for all numbers in order, in pieces of some `most` numbers. Lazy ones come in
  /// whole lines, at most a million numbers at a time unless a line is longer.
  void for_each_piece(const std::function<void(std::span<const double>)>& work,
                      std::size_t most = SIZE_MAX) const;

  /// For `for_each_piece`: so many that they stay in the processor's cache.
  static constexpr std::size_t in_cache = std::size_t{1} << 14;

  /// Drops the cache of lazy values. No span of them may be in use.
  void drop_cache() const;

  friend bool operator==(const Values& a, const Values& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  class Lazy;

  Values(std::shared_ptr<const Lazy> lazy, std::size_t size)
      : lazy_(std::move(lazy)), size_(size) {}
  void swap(Values& other) noexcept {
    std::swap(stored_, other.stored_);
    std::swap(lazy_, other.lazy_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }
  const double* recomputed(std::size_t first, std::size_t count) const;
  double recomputed(std::size_t i) const;

  std::shared_ptr<Vector> stored_;  // nullptr if lazy
  std::shared_ptr<const Lazy> lazy_;
  double* data_ = nullptr;  // of `stored_`
  std::size_t size_ = 0;
};

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

  /// Return the index of a cell among the values, and its number.
  std::size_t index(std::size_t matrix_index, std::size_t row, std::size_t column) const {
    return (matrix_index * rows() + row) * columns() + column;
  }
  double at(std::size_t matrix_index, std::size_t row, std::size_t column) const {
    return values[index(matrix_index, row, column)];
  }

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

/// Returns a pointer to a tensor that outlives all users of the pointer: it owns nothing.
inline std::shared_ptr<const Tensor> non_owning(const Tensor& tensor) {
  return {std::shared_ptr<void>(), &tensor};
}

/// Returns a tensor with unnamed axes. Throws std::logic_error if shape and values do not fit.
Tensor tensor_of(const Shape& shape, Values values);

/// Returns the tensor with at least two axes.
Tensor as_matrix(Tensor tensor);

/// Swaps the last two axes of every matrix. A tensor of one axis is unchanged.
Tensor transposed(const Tensor& tensor);

/// Returns these rows of each matrix.
Tensor some_rows(const Tensor& tensor, std::span<const std::size_t> rows);

/// Returns the last row of each matrix. There must be one.
Tensor last_rows(const Tensor& tensor);

/// Exchanges the two last sizes; a shape of one size stays as it is.
Shape transposed(Shape shape);

/// Returns how many numbers a shape holds. Throws InputError, with `what`, if they exceed
/// `memory_limit` together with those reserved by `MemoryBudget`.
std::size_t element_count(const Shape& shape, std::string_view what);

/// Returns "7×2", or "7" for one axis.
std::string shape_text(const Shape& shape);

/// Returns the index of place `place` along each of these axes, outermost first.
std::vector<std::size_t> multi_index(std::span<const Axis> axes, std::size_t place);

/// Returns the index of matrix `index` along each leading axis, outermost first.
std::vector<std::size_t> leading_index(const Tensor& tensor, std::size_t index);

/// Whether a token is shown as a row or as a column. Internally it is always a row.
enum class TokenLayout { rows, columns };

/// True if `as_shown` transposes this tensor. Vectors and token ids are never transposed.
bool is_shown_transposed(const Tensor& tensor, TokenLayout token_layout);

/// Returns the tensor as displayed: transposed if tokens are columns.
Tensor as_shown(const Tensor& tensor, TokenLayout token_layout);

/// Returns words about rows and columns for matrices as displayed: where tokens are columns,
/// "each row" becomes "each column", and the reverse.
std::string as_shown(std::string_view words, TokenLayout token_layout);

/// Returns the displayed shape; as text, "7×2".
Shape shape_as_shown(const Tensor& tensor, TokenLayout token_layout);
std::string shown_shape(const Tensor& tensor, TokenLayout token_layout);

/// The largest difference that counts as close: |actual − desired| ≤ absolute + relative ·
/// |desired|, as in NumPy, or `least` if that is more. NaN is close only to NaN, an infinity only
/// to the same infinity.
struct Tolerance {
  double relative = 0;
  double absolute = 0;
  double least = 0;
};

/// Removes leading axes of size 1 while more than `rank` axes are left.
Shape without_leading_ones(Shape shape, std::size_t rank = 1);

/// How two arrays of equal size differ.
struct Difference {
  std::size_t elements = 0;
  std::size_t mismatched = 0;        ///< outside the tolerance
  std::size_t nan_mismatched = 0;    ///< of these, with NaN on one side
  std::size_t nan_both = 0;          ///< NaN on both sides: no mismatch
  double largest_absolute = 0;       ///< over all elements, also within the tolerance
  double largest_relative = 0;       ///< over desired numbers other than 0; inf if none
  std::optional<std::size_t> first;  ///< index of the first mismatch
  bool identical = true;             ///< equal to the last bit, with 0 = −0
};

bool is_close(double actual, double desired, const Tolerance& tolerance);

/// Compares element by element. A pair with one NaN counts as a mismatch and has no difference.
/// Throws std::logic_error if the sizes differ.
Difference difference_of(const Values& actual, const Values& desired, const Tolerance& tolerance);

/// How far two arrays are apart over the cells where both are finite.
struct ErrorStatistics {
  std::size_t cells = 0;
  double mean = 0;        ///< of |actual − desired|
  double percentile = 0;  ///< the 99th, interpolated as in NumPy
  double cosine = 0;      ///< of the angle between the two; 0 if one is all 0
};
ErrorStatistics error_statistics(std::span<const double> actual, std::span<const double> desired);

/// True if two numbers differ by more than summation order explains.
bool differs(double now, double before);

/// True if both tensors have the same shape and labels.
bool comparable(const Tensor& now, const Tensor& before);

/// True if shape, labels or any number differs.
bool differs(const Tensor& now, const Tensor& before);

}  // namespace qkv::inline tensor
