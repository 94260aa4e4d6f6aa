#pragma once

#include <vector>

#include "ops/numbers/interval.hpp"

namespace qkv {

/// One cell of the norm, (x_i - mean) / √(variance + ε), over a box of rows: each x within `radius`
/// of `middle`. Interval arithmetic would take the mean and the variance for strangers to x and
/// come out many times too wide. The mean value theorem does not: the cell moves by at most the sum
/// of |slope| · radius, the slopes being ∂cell_i/∂x_j = (δ_ij - 1/n - cell_i · cell_j / n) / √(…).
class NormedBox {
 public:
  NormedBox(std::vector<Interval> row, double eps);
  Interval range(std::size_t i) const;

 private:
  double width() const { return static_cast<double>(row_.size()); }
  double cell(const std::vector<double>& x, std::size_t i) const;
  Interval cell_bounds(std::size_t i) const;
  Interval slope(std::size_t i, std::size_t j) const;
  Interval climbed(std::size_t i) const;
  double summit(std::size_t i, double way) const;
  double moved(std::vector<double>& x, std::size_t i, std::size_t j, double way,
               double height) const;

  std::vector<Interval> row_;
  double eps_;
  std::vector<double> middle_, radius_;
  Interval sum_ = 0.0;
  Interval root_;                // √(variance + ε)
  std::vector<Interval> cells_;  // of each, safe but wide
};

}  // namespace qkv
