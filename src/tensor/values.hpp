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

/// Transforms line `line` of a tensor in place, or fills it if there is no source tensor.
using LineFunction = std::function<void(std::size_t line, std::span<double> cells)>;

/// A reusable buffer for the numbers that `Values::read` recomputes.
class Scratch {
 public:
  Scratch() = default;
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

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

  /// Returns `size` numbers that `work` writes in lines of `width`, the same at each call. Throws
  /// std::logic_error if `size` is not a multiple of `width`.
  static Values lazy(std::size_t size, std::size_t width, LineFunction work);

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  bool are_stored() const { return !lazy_; }
  std::size_t stored_size() const { return lazy_ ? 0 : size_; }

  const double* data() const { return lazy_ ? recomputed(0, size_) : data_; }
  const double* begin() const { return data(); }
  const double* end() const { return data() + size_; }
  double operator[](std::size_t i) const { return lazy_ ? *recomputed(i, 1) : data_[i]; }
  double front() const { return (*this)[0]; }

  /// Returns the numbers to write to. Copies them first if they are shared or lazy.
  std::span<double> mutable_span();

  /// Returns `count` numbers from `first` on. If lazy, only their blocks are computed.
  std::span<const double> part(std::size_t first, std::size_t count) const {
    return {lazy_ ? recomputed(first, count) : data_ + first, count};
  }

  /// The same for whole lines. Lazy ones are computed into `scratch`, without the cache.
  std::span<const double> read(std::size_t first, std::size_t count, Scratch& scratch) const;

  /// Calls `work` for all numbers in order, in pieces of whole lines.
  void for_each_piece(const std::function<void(std::span<const double>)>& work) const;

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

  std::shared_ptr<Vector> stored_;  // nullptr if lazy
  std::shared_ptr<const Lazy> lazy_;
  double* data_ = nullptr;  // of `stored_`
  std::size_t size_ = 0;
};

}  // namespace qkv::inline tensor
