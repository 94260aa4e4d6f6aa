#include "tensor/values.hpp"

#include <atomic>
#include <mutex>
#include <stdexcept>

#include "tensor/parallel.hpp"

namespace qkv::inline tensor {

/// Recomputes numbers, and caches the blocks that were read. Thread-safe.
class Values::Lazy {
 public:
  /// `from` is empty if the numbers do not depend on others.
  Lazy(const Values& from, std::size_t size, std::size_t width, LineFunction work)
      : size_(size),
        width_(width),
        lines_a_block_(std::max<std::size_t>(1, numbers_a_block / width)),
        stored_(from.stored_),
        made_(from.lazy_),
        work_(std::move(work)),
        is_there_((size_ / width + lines_a_block_ - 1) / lines_a_block_) {}

  std::size_t width() const { return width_; }

  void fill_line(std::size_t line, std::span<double> cells) const {
    if (made_) {
      made_->fill_line(line, cells);
    } else if (stored_) {
      std::copy_n(stored_->data() + line * width_, width_, cells.begin());
    }
    work_(line, cells);
  }

  void fill_lines(std::size_t first, std::span<double> cells) const {
    constexpr std::size_t at_a_time = 16;
    constexpr std::size_t operations = 4;  // per number: read, transform, write
    parallel_for(cells.size() / width_, at_a_time, operations * width_,
                 [&](std::size_t l, std::size_t end) {
                   for (; l < end; ++l) fill_line(first + l, cells.subspan(l * width_, width_));
                 });
  }

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
  const std::shared_ptr<const Vector> stored_;  // the source: these numbers,
  const std::shared_ptr<const Lazy> made_;      // other lazy numbers, or neither
  const LineFunction work_;
  mutable std::mutex mutex_;
  mutable Vector numbers_;
  mutable std::vector<std::atomic<bool>> is_there_;
};

Values::Values(const std::vector<double>& numbers)
    : stored_(std::make_shared<Vector>(Vector::from_shape({numbers.size()}))),
      data_(stored_->data()),
      size_(numbers.size()) {
  std::copy(numbers.begin(), numbers.end(), data_);
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
  return Values(std::make_shared<const Lazy>(from, from.size(), width, std::move(work)),
                from.size());
}

Values Values::lazy(std::size_t size, std::size_t width, LineFunction work) {
  if (width == 0 || size % width != 0) {
    throw std::logic_error("recomputed: the numbers are no whole lines");
  }
  return Values(std::make_shared<const Lazy>(Values(), size, width, std::move(work)), size);
}

std::span<double> Scratch::of(std::size_t count) {
  if (count > numbers_.size()) numbers_ = Vector::from_shape({count});
  return {numbers_.data(), count};
}

std::span<const double> Values::read(std::size_t first, std::size_t count, Scratch& scratch) const {
  if (!lazy_) return part(first, count);
  const std::span<double> numbers = scratch.of(count);
  lazy_->fill_lines(first / lazy_->width(), numbers);
  return numbers;
}

void Values::for_each_piece(const std::function<void(std::span<const double>)>& work) const {
  if (!lazy_) return work({data_, size_});
  constexpr std::size_t numbers_at_a_time = std::size_t{1} << 20;
  const std::size_t width = lazy_->width();
  const std::size_t piece = std::max<std::size_t>(1, numbers_at_a_time / width) * width;
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

const double* Values::recomputed(std::size_t first, std::size_t count) const {
  return lazy_->part(first, count);
}

}  // namespace qkv::inline tensor
