#include "tensor/tensor.hpp"

#include <atomic>
#include <mutex>
#include <stdexcept>

#include "tensor/resources.hpp"

namespace qkv::inline tensor {

/// Recomputes numbers, and caches the blocks that were read. Thread-safe.
class Values::Lazy {
 public:
  Lazy(std::size_t size, std::size_t width, LineFunction source,
       std::shared_ptr<const Values> turned)
      : transposed(std::move(turned)),
        size_(size),
        width_(width),
        lines_a_block_(std::max<std::size_t>(1, numbers_a_block / width)),
        source_(std::move(source)),
        is_there_((size_ / width + lines_a_block_ - 1) / lines_a_block_) {}

  const std::shared_ptr<const Values> transposed;

  std::size_t width() const { return width_; }

  void fill_lines(std::size_t first, std::span<double> cells) const { source_(first, cells); }

  const double* part(std::size_t first, std::size_t count) const {
    if (count == 0) return nullptr;
    const std::size_t block = lines_a_block_ * width_;
    const std::size_t end = (first + count - 1) / block + 1;
    for (std::size_t b = first / block; b < end; ++b) {
      if (!is_there_[b].load(std::memory_order_acquire)) return make(first / block, end) + first;
    }
    return numbers_.data() + first;
  }

  void drop_cache() const {
    const std::lock_guard lock(mutex_);
    for (std::atomic<bool>& one : is_there_) one = false;
    numbers_ = Vector();
  }

 private:
  static constexpr std::size_t numbers_a_block = std::size_t{1} << 16;

  // Computes the missing blocks of [begin, end).
  const double* make(std::size_t begin, std::size_t end) const {
    const std::lock_guard lock(mutex_);
    if (numbers_.size() == 0) numbers_ = Vector::from_shape({size_});
    const std::size_t block = lines_a_block_ * width_;
    parallel_for(end - begin, 1, 2 * block, [&](std::size_t from, std::size_t to) {
      for (std::size_t b = begin + from; b < begin + to; ++b) {
        if (is_there_[b]) continue;
        const std::size_t last = std::min(size_, (b + 1) * block);
        fill_lines(b * lines_a_block_, {numbers_.data() + b * block, numbers_.data() + last});
        is_there_[b].store(true, std::memory_order_release);
      }
    });
    return numbers_.data();
  }

  const std::size_t size_;
  const std::size_t width_;
  const std::size_t lines_a_block_;
  const LineFunction source_;
  mutable std::mutex mutex_;
  mutable Vector numbers_;
  mutable std::vector<std::atomic<bool>> is_there_;
};

Values::Values(const std::vector<double>& numbers) : Values(uninitialised(numbers.size())) {
  std::ranges::copy(numbers, data_);
}

Values Values::uninitialised(std::size_t size) {
  Values values;
  values.stored_ = std::make_shared<Vector>(Vector::from_shape({size}));
  values.data_ = values.stored_->data();
  values.size_ = size;
#ifndef NDEBUG
  values.stored_->fill(std::numeric_limits<double>::quiet_NaN());
#endif
  return values;
}

Values Values::lazy(const Values& from, std::size_t width, LineFunction work) {
  const auto source = [from, width, work = std::move(work)](std::size_t first,
                                                            std::span<double> cells) {
    constexpr std::size_t at_a_time = 16;
    constexpr std::size_t operations = 4;  // per number: read, transform, write
    parallel_for(cells.size() / width, at_a_time, operations * width,
                 [&](std::size_t l, std::size_t end) {
                   const auto lines = cells.subspan(l * width, (end - l) * width);
                   if (from.lazy_) {
                     from.lazy_->fill_lines(first + l, lines);
                   } else {
                     std::copy_n(from.data_ + (first + l) * width, lines.size(), lines.begin());
                   }
                   for (; l < end; ++l) work(first + l, cells.subspan(l * width, width));
                 });
  };
  return lazy(from.size(), width, source);
}

Values Values::lazy(std::size_t size, std::size_t width, LineFunction source,
                    std::shared_ptr<const Values> transposed) {
  if (width == 0 || size % width != 0) {
    throw std::logic_error("recomputed: the numbers are no whole lines");
  }
  return Values(std::make_shared<const Lazy>(size, width, std::move(source), std::move(transposed)),
                size);
}

const Values* Values::transposed() const { return lazy_ ? lazy_->transposed.get() : nullptr; }

std::span<double> Scratch::of(std::size_t count) {
  if (count > numbers_.size()) numbers_ = Vector::from_shape({count});
  return {numbers_.data(), count};
}

std::span<const double> Values::read(std::size_t first, std::size_t count, Scratch& scratch) const {
  if (!lazy_ || first % lazy_->width() != 0 || count % lazy_->width() != 0)
    return part(first, count);
  const std::span<double> numbers = scratch.of(count);
  lazy_->fill_lines(first / lazy_->width(), numbers);
  return numbers;
}

void Values::for_each_piece(const std::function<void(std::span<const double>)>& work,
                            std::size_t most) const {
  constexpr std::size_t most_of_lazy = std::size_t{1} << 20;
  const std::size_t width = lazy_ ? lazy_->width() : 1;
  const std::size_t lines = (lazy_ ? std::min(most, most_of_lazy) : most) / width;
  const std::size_t piece = std::max<std::size_t>(1, lines) * width;
  Scratch scratch;
  for (std::size_t i = 0; i < size(); i += piece) {
    work(read(i, std::min(piece, size() - i), scratch));
  }
}

void Values::drop_cache() const {
  if (lazy_) lazy_->drop_cache();
}

std::span<double> Values::mutable_span() {
  if (lazy_ || stored_.use_count() > 1) {
    const Values shared = std::move(*this);
    *this = uninitialised(shared.size());
    std::copy(shared.begin(), shared.end(), data_);
  }
  return {data_, size_};
}

// Of lines of one number, one is computed without the cache.
double Values::recomputed(std::size_t i) const {
  double number = 0;
  if (lazy_->width() > 1) return *lazy_->part(i, 1);
  lazy_->fill_lines(i, {&number, 1});
  return number;
}

const double* Values::recomputed(std::size_t first, std::size_t count) const {
  return lazy_->part(first, count);
}

bool is_shown_transposed(const Tensor& tensor, TokenLayout token_layout) {
  return token_layout == TokenLayout::columns && tensor.rank() >= 2 &&
         tensor.axes[tensor.rank() - 2].name != "batch";
}

Tensor as_shown(const Tensor& tensor, TokenLayout token_layout) {
  return is_shown_transposed(tensor, token_layout) ? transposed(tensor) : tensor;
}

std::string as_shown(std::string_view words, TokenLayout token_layout) {
  constexpr std::array<std::array<std::string_view, 2>, 4> exchanged = {
      {{"row", "column"}, {"rows", "columns"}, {"Row", "Column"}, {"Rows", "Columns"}}};
  if (token_layout == TokenLayout::rows) return std::string(words);
  std::string text;
  while (!words.empty()) {  // whole words: a matrix may be called rowsum
    const auto is_part = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
    const auto end = std::ranges::find_if_not(words, is_part) - words.begin();
    std::string_view word =
        words.substr(0, std::max<std::size_t>(1, static_cast<std::size_t>(end)));
    words.remove_prefix(word.size());
    for (const auto& [row, column] : exchanged) {
      if (word != row && word != column) continue;
      word = word == row ? column : row;
      break;
    }
    text += word;
  }
  return text;
}

Shape shape_as_shown(const Tensor& tensor, TokenLayout token_layout) {
  return is_shown_transposed(tensor, token_layout) ? transposed(tensor.shape()) : tensor.shape();
}

std::string shown_shape(const Tensor& tensor, TokenLayout token_layout) {
  return shape_text(shape_as_shown(tensor, token_layout));
}

std::string_view Axis::label(std::size_t i, std::size_t batch) const {
  if (labels.empty() || i >= size) return {};
  const std::size_t sentences = labels.size() / size;
  return labels[std::min(batch, sentences - 1) * size + i];
}

std::size_t Tensor::matrices() const {
  std::size_t count = 1;
  for (std::size_t a = 0; a < leading_axes(); ++a) count *= axes[a].size;
  return count;
}

Shape Tensor::shape() const { return mapped(axes, &Axis::size); }

Axis Tensor::row_axis() const {
  return rank() < 2 ? Axis{.name = "", .size = 1} : axes[rank() - 2];
}

std::span<const double> Tensor::cells(std::size_t matrix_index) const {
  const std::size_t size = rows() * columns();
  return values.part(matrix_index * size, size);
}

std::span<double> Tensor::mutable_cells(std::size_t matrix_index) {
  const std::size_t size = rows() * columns();
  return values.mutable_span().subspan(matrix_index * size, size);
}

Tensor zeros(std::vector<Axis> axes) {
  Tensor tensor = uninitialised(std::move(axes));
  std::ranges::fill(tensor.values.mutable_span(), 0.0);
  return tensor;
}

Tensor uninitialised(std::vector<Axis> axes) {
  Tensor tensor{.axes = std::move(axes), .values = {}};
  tensor.values = Values::uninitialised(element_count(tensor.shape(), "a tensor"));
  return tensor;
}

Tensor uninitialised_like(const Tensor& other) {
  Tensor tensor = uninitialised(other.axes);
  tensor.dot_width = other.dot_width;
  return tensor;
}

Tensor tensor_of(const Shape& shape, Values values) {
  if (element_count(shape, "a tensor") != values.size()) {
    throw std::logic_error("a tensor of shape " + shape_text(shape) + " cannot hold " +
                           std::to_string(values.size()) + " values");
  }
  Tensor tensor{.axes = {}, .values = std::move(values)};
  for (const std::size_t size : shape) tensor.axes.push_back({.name = "", .size = size});
  return tensor;
}

AxisRoles::AxisRoles(const Tensor& tensor)
    : outer(tensor.axes.begin(), tensor.axes.begin() + static_cast<long>(tensor.leading_axes())),
      rows(tensor.row_axis()),
      columns(tensor.axes.back()) {
  if (outer.empty()) return;
  heads = std::move(outer.back());
  outer.pop_back();
}

std::vector<Axis> AxisRoles::all() const {
  std::vector<Axis> axes = outer;
  if (heads) axes.push_back(*heads);
  axes.insert(axes.end(), {rows, columns});
  return axes;
}

Tensor as_matrix(Tensor tensor) {
  if (tensor.rank() < 2) tensor.axes.insert(tensor.axes.begin(), tensor.row_axis());
  return tensor;
}

Tensor transposed(const Tensor& tensor) {
  if (tensor.rank() < 2) return tensor;
  std::vector<Axis> axes = tensor.axes;
  std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
  Tensor result = uninitialised(std::move(axes));
  result.dot_width = tensor.dot_width;
  put(xt::transpose(tensor.array(), {0, 2, 1}), result.values.mutable_span());
  return result;
}

Tensor some_rows(const Tensor& tensor, std::span<const std::size_t> rows) {
  const std::size_t columns = tensor.columns();
  AxisRoles axes(tensor);
  const auto label = [&](std::size_t row) { return axes.rows.labels[row]; };
  const bool is_labelled = !axes.rows.labels.empty();
  axes.rows = {axes.rows.name, rows.size(),
               is_labelled ? mapped(rows, label) : std::vector<std::string>()};
  Tensor some = uninitialised(axes.all());
  some.dot_width = tensor.dot_width;
  for (std::size_t m = 0; m < some.matrices(); ++m) {
    for (std::size_t r = 0; r < rows.size(); ++r)
      std::ranges::copy(tensor.values.part(tensor.index(m, rows[r], 0), columns),
                        some.mutable_cells(m).subspan(r * columns).begin());
  }
  return some;
}

Tensor last_rows(const Tensor& tensor) {
  const std::size_t last[] = {tensor.rows() - 1};
  return some_rows(tensor, last);
}

Shape transposed(Shape shape) {
  if (shape.size() > 1) std::iter_swap(shape.end() - 1, shape.end() - 2);
  return shape;
}

std::string shape_text(const Shape& shape) { return fmt::format("{}", fmt::join(shape, "×")); }

std::vector<std::size_t> multi_index(std::span<const Axis> axes, std::size_t place) {
  std::vector<std::size_t> result(axes.size());
  for (std::size_t a = result.size(); a-- > 0;) {
    const std::size_t size = std::max<std::size_t>(1, axes[a].size);
    result[a] = place % size;
    place /= size;
  }
  return result;
}

std::vector<std::size_t> leading_index(const Tensor& tensor, std::size_t index) {
  return multi_index(std::span(tensor.axes).first(tensor.leading_axes()), index);
}

bool differs(double now, double before) { return !is_close(now, before, {.relative = 1e-12}); }

bool comparable(const Tensor& now, const Tensor& before) {
  return now.shape() == before.shape() &&
         std::ranges::equal(now.axes, before.axes, {}, &Axis::labels, &Axis::labels);
}

bool differs(const Tensor& now, const Tensor& before) {
  return !comparable(now, before) ||
         !std::ranges::equal(now.values, before.values,
                             [](double a, double b) { return !differs(a, b); });
}

namespace {

bool are_same(double actual, double desired) {
  return actual == desired || (std::isnan(actual) && std::isnan(desired));
}

// True if numbers that are not the same, this far apart, are finite and close.
bool are_close(double apart, double desired, const Tolerance& tolerance) {
  return std::isfinite(apart) &&
         (apart <= tolerance.absolute + tolerance.relative * std::abs(desired) ||
          apart <= tolerance.least);
}

}  // namespace

bool is_close(double actual, double desired, const Tolerance& tolerance) {
  return are_same(actual, desired) || are_close(std::abs(actual - desired), desired, tolerance);
}

Difference difference_of(const Values& actual, const Values& desired, const Tolerance& tolerance) {
  if (actual.size() != desired.size()) throw std::logic_error("difference_of: sizes differ");
  Difference difference{.elements = actual.size(), .first = {}};
  bool some_desired = false;
  std::size_t first = 0;
  Scratch scratch;
  desired.for_each_piece(
      [&](std::span<const double> piece) {
        const std::span<const double> theirs = actual.read(first, piece.size(), scratch);
        for (std::size_t i = 0; i < piece.size(); ++i) {
          some_desired = some_desired || piece[i] != 0;
          if (are_same(theirs[i], piece[i])) {
            difference.nan_both += std::isnan(theirs[i]) ? 1 : 0;
            continue;
          }
          difference.identical = false;
          const double apart = std::abs(theirs[i] - piece[i]);  // NaN loses every comparison
          if (apart > difference.largest_absolute) difference.largest_absolute = apart;
          // Divides only where the quotient may be the largest, also after rounding (0.99):
          // divisions take most of the time.
          const double size = std::abs(piece[i]);
          if (size > 0 && apart > 0.99 * difference.largest_relative * size &&
              apart / size > difference.largest_relative) {
            difference.largest_relative = apart / size;
          }
          if (are_close(apart, piece[i], tolerance)) continue;
          ++difference.mismatched;
          if (std::isnan(theirs[i]) || std::isnan(piece[i])) ++difference.nan_mismatched;
          if (!difference.first) difference.first = first + i;
        }
        first += piece.size();
      },
      Values::in_cache);
  if (!difference.identical && !some_desired) difference.largest_relative = infinity;
  return difference;
}

ErrorStatistics error_statistics(std::span<const double> actual, std::span<const double> desired) {
  std::vector<double> apart;
  double sum = 0;
  double product = 0;
  double of_actual = 0;
  double of_desired = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (!std::isfinite(actual[i]) || !std::isfinite(desired[i])) continue;
    apart.push_back(std::abs(actual[i] - desired[i]));
    sum += apart.back();
    product += actual[i] * desired[i];
    of_actual += actual[i] * actual[i];
    of_desired += desired[i] * desired[i];
  }
  if (apart.empty()) return {};
  const double place = 0.99 * static_cast<double>(apart.size() - 1);
  const auto below = apart.begin() + static_cast<std::ptrdiff_t>(place);
  std::ranges::nth_element(apart, below);
  const double next = below + 1 == apart.end() ? *below : *std::min_element(below + 1, apart.end());
  const double size = std::sqrt(of_actual) * std::sqrt(of_desired);
  return {.cells = apart.size(),
          .mean = sum / static_cast<double>(apart.size()),
          .percentile = *below + (place - std::floor(place)) * (next - *below),
          .cosine = size > 0 ? std::clamp(product / size, -1.0, 1.0) : 0};
}

Shape without_leading_ones(Shape shape, std::size_t rank) {
  while (shape.size() > std::max<std::size_t>(1, rank) && shape.front() == 1) {
    shape.erase(shape.begin());
  }
  return shape;
}

}  // namespace qkv::inline tensor
