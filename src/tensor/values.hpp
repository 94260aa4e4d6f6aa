#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "tensor/xt.hpp"

namespace qkv::inline tensor {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

/// Turns line `line` of one tensor's numbers into the same line of another's, in place; or writes
/// it, where there is no other tensor.
using LineFunction = std::function<void(std::size_t line, std::span<double> cells)>;

/// Memory that numbers are recomputed into by a reader who wants some of them, and then others.
class Scratch {
 public:
  Scratch() = default;
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  /// So many numbers, to be written over: what was there before need not be there still.
  std::span<double> of(std::size_t count);

 private:
  Vector numbers_;
};

/// The numbers of a tensor, copied on write: an xtensor container of them, or a way to recompute
/// them, bit for bit, from another tensor's or from a file. The latter is for large results that
/// cost next to nothing, such as the scaled scores, of which four matrices of the same size would
/// else be stored where two will do; and for a model's weights, which a file stores already.
/// A reader need not know which they are; one of large ones from end to end uses `read`.
///
/// Copies share their numbers until one of them is written to, which then gets its own: a span from
/// `write` is not to be kept beyond a copy, and where several threads write, it is taken before
/// they start.
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

  /// `size` numbers that are yet to be written, each of them: in a debug build they are nan till
  /// then.
  static Values uninitialised(std::size_t size);

  /// As many numbers as `from` has now, in lines of `width`.
  static Values lazy(const Values& from, std::size_t width, LineFunction work);

  /// So many numbers, in lines of `width`, each of which `work` writes: the same whenever it is
  /// asked for it. Throws std::logic_error where they are no whole lines.
  static Values lazy(std::size_t size, std::size_t width, LineFunction work);

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  bool are_stored() const { return !lazy_; }
  std::size_t stored_size() const { return lazy_ ? 0 : size_; }

  const double* data() const { return lazy_ ? made(0, size_) : data_; }
  const double* begin() const { return data(); }
  const double* end() const { return data() + size_; }
  double operator[](std::size_t i) const { return lazy_ ? *made(i, 1) : data_[i]; }
  double front() const { return (*this)[0]; }

  /// The numbers to write to: their own copy from here on, where others shared them.
  std::span<double> write();

  /// `count` numbers from `first` on, without making all where they are recomputed.
  std::span<const double> part(std::size_t first, std::size_t count) const {
    return {lazy_ ? made(first, count) : data_ + first, count};
  }

  /// The same for whole lines, made in `scratch` where they are recomputed: nothing else is kept.
  std::span<const double> read(std::size_t first, std::size_t count, Scratch& scratch) const;

  /// Calls `work` for all numbers, piece by piece in order, each of whole lines.
  void for_each_piece(const std::function<void(std::span<const double>)>& work) const;

  /// Forgets what was recomputed for earlier readers: it is recomputed for the next. No span of it
  /// may still be in use.
  void drop_cache() const;

  friend bool operator==(const Values& a, const Values& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  class Lazy;

  void swap(Values& other) noexcept {
    std::swap(stored_, other.stored_);
    std::swap(lazy_, other.lazy_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }
  const double* made(std::size_t first, std::size_t count) const;

  std::shared_ptr<Vector> stored_;  // none where they are recomputed
  std::shared_ptr<const Lazy> lazy_;
  double* data_ = nullptr;  // of what is stored
  std::size_t size_ = 0;
};

}  // namespace qkv::inline tensor
