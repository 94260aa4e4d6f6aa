#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace qkv {

/// Turns line `line` of one tensor's numbers into the same line of another's, in place.
using LineWork = std::function<void(std::size_t line, std::span<double> cells)>;

/// The numbers of a tensor: a vector of them, or a way to make them again from another tensor's
/// whenever somebody looks, bit for bit. That is for large results that cost next to nothing, such
/// as the scaled scores: four matrices of the same size would else be held where two will do.
/// Whoever reads them need not know; who reads large ones from end to end does so with `look`.
///
/// A copy holds its numbers, and so does what is written to.
class Values {
 public:
  using value_type = double;

  Values() = default;
  Values(std::vector<double> numbers) : held_(std::move(numbers)) {}
  Values(std::initializer_list<double> numbers) : held_(numbers) {}
  template <std::input_iterator It>
  Values(It first, It last) : held_(first, last) {}
  Values(const Values& other);
  Values(Values&& other) noexcept = default;
  Values& operator=(const Values& other);
  Values& operator=(Values&& other) noexcept = default;
  ~Values() = default;

  /// As many numbers as `from` has, in lines of `width`. `from` must neither change nor go away
  /// while they are looked at; it may be moved.
  static Values made_of(const Values& from, std::size_t width, LineWork work);

  std::size_t size() const { return again_ ? size_again() : held_.size(); }
  bool empty() const { return size() == 0; }
  bool are_held() const { return !again_; }

  const double* data() const { return again_ ? part_again(0, size()) : held_.data(); }
  const double* begin() const { return data(); }
  const double* end() const { return data() + size(); }
  double operator[](std::size_t i) const { return again_ ? *part_again(i, 1) : held_[i]; }
  double front() const { return (*this)[0]; }

  double* data() { return held().data(); }
  double* begin() { return data(); }
  double* end() { return data() + size(); }
  double& operator[](std::size_t i) { return held()[i]; }

  /// `count` numbers from `first` on, without making more than the matrices of them.
  std::span<const double> part(std::size_t first, std::size_t count) const {
    return again_ ? std::span(part_again(first, count), count)
                  : std::span(held_).subspan(first, count);
  }

  /// The same for whole lines, made in `room` where they are not held: nothing else is kept.
  std::span<const double> look(std::size_t first, std::size_t count,
                               std::vector<double>& room) const;

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

  std::vector<double>& held() {
    if (again_) hold();
    return held_;
  }
  void hold();
  std::size_t size_again() const;
  const double* part_again(std::size_t first, std::size_t count) const;

  std::vector<double> held_;
  std::shared_ptr<const Again> again_;
};

}  // namespace qkv
