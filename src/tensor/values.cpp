#include "tensor/values.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <stdexcept>

#include "tensor/parallel.hpp"

namespace qkv {

/// How numbers are made again, and those blocks of them that somebody has looked at. Several
/// threads may look at once.
class Values::Again {
 public:
  /// `from` has no numbers where they are made of nothing else.
  Again(const Values& from, std::size_t size, std::size_t width, LineWork work)
      : size_(size),
        width_(width),
        lines_a_block_(std::max<std::size_t>(1, numbers_a_block / width)),
        held_(from.held_),
        numbers_held_(from.data_),
        made_(from.again_),
        work_(std::move(work)),
        is_there_((size_ / width + lines_a_block_ - 1) / lines_a_block_) {}

  std::size_t width() const { return width_; }

  void fill_line(std::size_t line, std::span<double> room) const {
    if (made_) {
      made_->fill_line(line, room);
    } else if (numbers_held_) {
      std::copy_n(numbers_held_ + line * width_, width_, room.begin());
    }
    work_(line, room);
  }

  void fill_lines(std::size_t first, std::span<double> room) const {
    constexpr std::size_t at_a_time = 16;
    constexpr std::size_t operations = 4;  // a number: it is read, made another, and written
    in_blocks(room.size() / width_, at_a_time, operations * width_,
              [&](std::size_t l, std::size_t end) {
                for (; l < end; ++l) fill_line(first + l, room.subspan(l * width_, width_));
              });
  }

  const double* part(std::size_t first, std::size_t count) const {
    if (count == 0) return nullptr;
    const std::size_t block = lines_a_block_ * width_;
    const std::size_t end = (first + count - 1) / block + 1;
    for (std::size_t b = first / block; b < end; ++b) {
      if (!is_there_[b].load(std::memory_order_acquire)) return make(first / block, end) + first;
    }
    return numbers_.get() + first;
  }

  void let_go() const {
    const std::lock_guard lock(mutex_);
    for (std::atomic<bool>& one : is_there_) one = false;
    numbers_.reset();
  }

 private:
  static constexpr std::size_t numbers_a_block = std::size_t{1} << 16;

  // Makes the blocks that are missing of [begin, end).
  const double* make(std::size_t begin, std::size_t end) const {
    const std::lock_guard lock(mutex_);
    if (!numbers_) numbers_ = std::make_unique_for_overwrite<double[]>(size_);
    const std::size_t block = lines_a_block_ * width_;
    in_blocks(end - begin, 1, 2 * block, [&](std::size_t from, std::size_t to) {
      for (std::size_t b = begin + from; b < begin + to; ++b) {
        if (is_there_[b]) continue;
        const std::size_t last = std::min(size_, (b + 1) * block);
        fill_lines(b * lines_a_block_, {numbers_.get() + b * block, numbers_.get() + last});
        is_there_[b].store(true, std::memory_order_release);
      }
    });
    return numbers_.get();
  }

  const std::size_t size_;
  const std::size_t width_;
  const std::size_t lines_a_block_;
  const std::shared_ptr<const void> held_;  // what they are made of: these,
  const double* const numbers_held_;
  const std::shared_ptr<const Again> made_;  // others that are made again themselves, or neither
  const LineWork work_;
  mutable std::mutex mutex_;
  mutable std::unique_ptr<double[]> numbers_;
  mutable std::vector<std::atomic<bool>> is_there_;
};

Values::Values(std::vector<double> numbers) : size_(numbers.size()) {
  const auto held = std::make_shared<std::vector<double>>(std::move(numbers));
  data_ = held->data();
  held_ = held;
}

Values Values::unwritten(std::size_t size) {
  const std::shared_ptr<double[]> held(new double[size]);
  Values values;
  values.data_ = held.get();
  values.size_ = size;
  values.held_ = held;
#ifndef NDEBUG
  std::fill_n(values.data_, size, std::numeric_limits<double>::quiet_NaN());
#endif
  return values;
}

Values Values::made_of(const Values& from, std::size_t width, LineWork work) {
  Values values;
  values.size_ = from.size();
  values.again_ = std::make_shared<const Again>(from, from.size(), width, std::move(work));
  return values;
}

Values Values::made_by(std::size_t size, std::size_t width, LineWork work) {
  if (width == 0 || size % width != 0) {
    throw std::logic_error("made_by: the numbers are no whole lines");
  }
  Values values;
  values.size_ = size;
  values.again_ = std::make_shared<const Again>(Values(), size, width, std::move(work));
  return values;
}

std::span<double> Room::of(std::size_t count) {
  if (count > size_) {
    numbers_ = std::make_unique_for_overwrite<double[]>(count);
    size_ = count;
  }
  return {numbers_.get(), count};
}

std::span<const double> Values::look(std::size_t first, std::size_t count, Room& room) const {
  if (!again_) return part(first, count);
  const std::span<double> numbers = room.of(count);
  again_->fill_lines(first / again_->width(), numbers);
  return numbers;
}

void Values::in_pieces(const std::function<void(std::span<const double>)>& work) const {
  if (!again_) return work({data_, size_});
  constexpr std::size_t numbers_at_a_time = std::size_t{1} << 20;
  const std::size_t width = again_->width();
  const std::size_t piece = std::max<std::size_t>(1, numbers_at_a_time / width) * width;
  Room room;
  for (std::size_t i = 0; i < size(); i += piece) {
    work(look(i, std::min(piece, size() - i), room));
  }
}

void Values::let_go() const {
  if (again_) again_->let_go();
}

void Values::hold() {
  const Values& seen = *this;
  *this = Values(std::vector<double>(seen.begin(), seen.end()));
}

const double* Values::made(std::size_t first, std::size_t count) const {
  return again_->part(first, count);
}

}  // namespace qkv
