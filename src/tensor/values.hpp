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

namespace qkv {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

/// Turns line `line` of one tensor's numbers into the same line of another's, in place; or writes
/// it, where there is no other tensor.
using LineWork = std::function<void(std::size_t line, std::span<double> cells)>;

/// Where numbers are made again for somebody who looks at some of them, and then at others.
class Room {
 public:
  Room() = default;
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;

  /// So many numbers, to be written over: what was there before need not be there still.
  std::span<double> of(std::size_t count);

 private:
  std::unique_ptr<double[]> numbers_;
  std::size_t size_ = 0;
};

/// The numbers of a tensor: a vector of them, or a way to make them again whenever somebody looks,
/// bit for bit, from another tensor's or from a file. That is for large results that cost next to
/// nothing, such as the scaled scores, of which four matrices of the same size would else be held
/// where two will do; and for a model's weights, which a file holds already.
/// Whoever reads them need not know; who reads large ones from end to end does so with `look`.
///
/// Copies share their numbers until one of them is written to, which then gets its own: a span to
/// write through is not to be kept beyond a copy, and where several threads write, it is taken
/// before they start.
class Values {
 public:
  using value_type = double;

  Values() = default;
  Values(std::vector<double> numbers);
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
  static Values unwritten(std::size_t size);

  /// As many numbers as `from` has now, in lines of `width`.
  static Values made_of(const Values& from, std::size_t width, LineWork work);

  /// So many numbers, in lines of `width`, each of which `work` writes: the same whenever it is
  /// asked for it. Throws std::logic_error where they are no whole lines.
  static Values made_by(std::size_t size, std::size_t width, LineWork work);

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  bool are_held() const { return !again_; }
  std::size_t held_size() const { return again_ ? 0 : size_; }

  const double* data() const { return again_ ? made(0, size_) : data_; }
  const double* begin() const { return data(); }
  const double* end() const { return data() + size_; }
  double operator[](std::size_t i) const { return again_ ? *made(i, 1) : data_[i]; }
  double front() const { return (*this)[0]; }

  double* data() {
    if (again_ || held_.use_count() > 1) hold();
    return data_;
  }
  double* begin() { return data(); }
  double* end() { return data() + size_; }
  double& operator[](std::size_t i) { return data()[i]; }

  /// `count` numbers from `first` on, without making all where they are not held.
  std::span<const double> part(std::size_t first, std::size_t count) const {
    return {again_ ? made(first, count) : data_ + first, count};
  }

  /// The same for whole lines, made in `room` where they are not held: nothing else is kept.
  std::span<const double> look(std::size_t first, std::size_t count, Room& room) const;

  /// Calls `work` for all numbers, piece by piece in order, each of whole lines.
  void in_pieces(const std::function<void(std::span<const double>)>& work) const;

  /// Forgets what was made for those who looked: it is made again for the next. Nobody may still
  /// hold a span of it.
  void let_go() const;

  friend bool operator==(const Values& a, const Values& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  class Again;

  void swap(Values& other) noexcept {
    std::swap(held_, other.held_);
    std::swap(again_, other.again_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }
  void hold();
  const double* made(std::size_t first, std::size_t count) const;

  std::shared_ptr<const void> held_;  // none where they are made again
  std::shared_ptr<const Again> again_;
  double* data_ = nullptr;  // of what is held
  std::size_t size_ = 0;
};

}  // namespace qkv
