#include "ops/layers/layer_norm.hpp"

#include <algorithm>
#include <cmath>

namespace qkv {
namespace {

Interval meet(Interval a, Interval b) { return {std::max(a.low, b.low), std::min(a.high, b.high)}; }

double mean_of(const std::vector<double>& x) {
  double mean = 0;
  for (const double value : x) mean += value / static_cast<double>(x.size());
  return mean;
}

// The root of the mean square distance from the mean, ε added below the root.
double deviation(const std::vector<double>& x, double eps) {
  const double mean = mean_of(x);
  double variance = 0;
  for (const double value : x)
    variance += (value - mean) * (value - mean) / static_cast<double>(x.size());
  return std::sqrt(variance + eps);
}

}  // namespace

NormedBox::NormedBox(std::vector<Interval> row, double eps) : row_(std::move(row)), eps_(eps) {
  double squares = 0;
  for (const Interval& x : row_) {
    middle_.push_back(x.low + (x.high - x.low) / 2);
    radius_.push_back((x.high - x.low) / 2);
    sum_.low += x.low;
    sum_.high += x.high;
    squares += radius_.back() * radius_.back();
  }
  // A row's deviation changes by at most the root mean square of its changes.
  const double root = deviation(middle_, eps_);
  const double change = std::sqrt(squares / width());
  root_ = {std::max(std::sqrt(eps_), root - change), root + change};
  for (std::size_t j = 0; j < row_.size(); ++j) cells_.push_back(cell_bounds(j));
}

Interval NormedBox::range(std::size_t i) const {
  if (!std::isfinite(root_.high) || root_.low <= 0) return cells_[i];
  double most = 0;
  double least = 0;
  for (std::size_t j = 0; j < row_.size(); ++j) {
    const Interval s = slope(i, j);
    most += std::max(std::abs(s.low), std::abs(s.high)) * radius_[j];
    least += std::max(s.low, -s.high) * radius_[j];  // negative where the sign is not sure
  }
  const double centre = cell(middle_, i);
  Interval safe = meet(cells_[i], {centre - most, centre + most});
  constexpr double near = 1.4;  // of what is allowed, 1.5
  if (most <= near * least) return safe;
  return meet(safe, climbed(i));
}

double NormedBox::cell(const std::vector<double>& x, std::size_t i) const {
  return (x[i] - mean_of(x)) / deviation(x, eps_);
}

// No cell is farther from 0 than √(n - 1).
Interval NormedBox::cell_bounds(std::size_t i) const {
  const Interval own = row_[i];
  const Interval others{sum_.low - own.low, sum_.high - own.high};
  const double n = width();
  const Interval above{own.low * (1 - 1 / n) - others.high / n,
                       own.high * (1 - 1 / n) - others.low / n};
  const double most = std::sqrt(n - 1);
  return meet(above / root_, {-most, most});
}

Interval NormedBox::slope(std::size_t i, std::size_t j) const {
  const Interval own = (i == j ? 1.0 : 0.0) - 1 / width();
  return (own - cells_[i] * cells_[j] / width()) / root_;
}

// For boxes so wide that slopes change their signs: climbs from the middle to where no number can
// be moved for the better, and adds a fifth for the hills that it may have missed.
Interval NormedBox::climbed(std::size_t i) const {
  const double centre = cell(middle_, i);
  const double up = summit(i, 1) - centre;
  const double down = centre - summit(i, -1);
  constexpr double to_be_safe = 1.2;
  return {centre - to_be_safe * down, centre + to_be_safe * up};
}

double NormedBox::summit(std::size_t i, double way) const {
  constexpr int most_rounds = 30;
  double best = way * cell(middle_, i);
  for (const bool from_corner : {false, true}) {
    std::vector<double> x = middle_;
    for (std::size_t j = 0; from_corner && j < x.size(); ++j) {
      x[j] = (j == i) == (way > 0) ? row_[j].high : row_[j].low;
    }
    double height = way * cell(x, i);
    for (int round = 0; round < most_rounds; ++round) {
      const double before = height;
      for (std::size_t j = 0; j < x.size(); ++j) height = moved(x, i, j, way, height);
      if (height <= before) break;
    }
    best = std::max(best, height);
  }
  return way * best;
}

// x_j at whichever end or middle is best.
double NormedBox::moved(std::vector<double>& x, std::size_t i, std::size_t j, double way,
                        double height) const {
  double best = x[j];
  for (const double tried : {row_[j].low, row_[j].high, middle_[j]}) {
    x[j] = tried;
    const double there = way * cell(x, i);
    if (there <= height) continue;
    height = there;
    best = tried;
  }
  x[j] = best;
  return height;
}

}  // namespace qkv
