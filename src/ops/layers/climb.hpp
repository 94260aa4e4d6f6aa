#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "ops/numbers/interval.hpp"

namespace qkv {

/// A number that is worked out from several others, each known within an interval: its range, safe
/// but wide where one of them enters more than once, and how steeply it climbs with each of them.
/// `+ - * /` and sqrt are defined for it, so that a template that takes doubles takes climbs, too.
class Climb {
 public:
  Climb(double exact) : value_(exact) {}  // NOLINT: a number is a climb that stays where it is
  static Climb of_input(Interval range, std::size_t input, std::size_t inputs);

  Interval value() const { return value_; }
  Interval slope(std::size_t input) const { return slopes_.empty() ? 0.0 : slopes_[input]; }

  friend Climb operator+(const Climb& a, const Climb& b);
  friend Climb operator-(const Climb& a, const Climb& b);
  friend Climb operator*(const Climb& a, const Climb& b);
  friend Climb operator/(const Climb& a, const Climb& b);
  friend Climb sqrt(const Climb& x);

 private:
  // a's slopes times `of_a` and b's times `of_b`.
  static Climb made(Interval value, const Climb& a, Interval of_a, const Climb& b, Interval of_b);

  Interval value_;
  std::vector<Interval> slopes_;
};

/// The range of a cell over a box of inputs, by the mean value theorem: what it is in the middle,
/// and at most each slope times how far that input may be from there.
Interval mean_value_range(const std::vector<Interval>& inputs,
                          const std::function<double(const std::vector<double>&)>& number,
                          const std::function<Climb(const std::vector<Climb>&)>& climb);

}  // namespace qkv
