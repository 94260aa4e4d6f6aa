#include "ops/layers/climb.hpp"

#include <algorithm>
#include <cmath>

namespace qkv {

Climb Climb::of_input(Interval range, std::size_t input, std::size_t inputs) {
  Climb climb(0);
  climb.value_ = range;
  climb.slopes_.assign(inputs, 0.0);
  climb.slopes_[input] = 1.0;
  return climb;
}

Climb Climb::made(Interval value, const Climb& a, Interval of_a, const Climb& b, Interval of_b) {
  Climb result(0);
  result.value_ = value;
  result.slopes_.resize(std::max(a.slopes_.size(), b.slopes_.size()));
  for (std::size_t k = 0; k < result.slopes_.size(); ++k) {
    result.slopes_[k] = a.slope(k) * of_a + b.slope(k) * of_b;
  }
  return result;
}

Climb operator+(const Climb& a, const Climb& b) {
  return Climb::made(a.value_ + b.value_, a, 1.0, b, 1.0);
}

Climb operator-(const Climb& a, const Climb& b) {
  return Climb::made(a.value_ - b.value_, a, 1.0, b, -1.0);
}

Climb operator*(const Climb& a, const Climb& b) {
  const Interval value = &a == &b ? square(a.value_) : a.value_ * b.value_;
  return Climb::made(value, a, b.value_, b, a.value_);
}

Climb operator/(const Climb& a, const Climb& b) {
  const Interval value = a.value_ / b.value_;
  return Climb::made(value, a, Interval(1.0) / b.value_, b, Interval(0.0) - value / b.value_);
}

Climb sqrt(const Climb& x) {
  const Interval value = sqrt(x.value_);
  return Climb::made(value, x, Interval(0.5) / value, x, 0.0);
}

Interval mean_value_range(const std::vector<Interval>& inputs,
                          const std::function<double(const std::vector<double>&)>& number,
                          const std::function<Climb(const std::vector<Climb>&)>& climb) {
  std::vector<double> middle;
  std::vector<Climb> climbs;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    middle.push_back(inputs[k].low + (inputs[k].high - inputs[k].low) / 2);
    climbs.push_back(Climb::of_input(inputs[k], k, inputs.size()));
  }
  const Climb whole = climb(climbs);
  Interval range = number(middle);
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    range = range + whole.slope(k) * (inputs[k] - Interval(middle[k]));
  }
  const Interval wide = whole.value();
  if (std::isnan(range.low) || std::isnan(range.high)) return wide;
  return {std::max(range.low, wide.low), std::min(range.high, wide.high)};
}

}  // namespace qkv
