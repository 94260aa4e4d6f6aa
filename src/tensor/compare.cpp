#include "tensor/compare.hpp"

#include <cmath>
#include <stdexcept>

#include "tensor/values.hpp"

namespace qkv::inline tensor {

bool differs(double now, double before) { return !is_close(now, before, {.relative = 1e-12}); }

bool comparable(const Tensor& now, const Tensor& before) {
  return now.shape() == before.shape() &&
         std::ranges::equal(now.axes, before.axes, {}, &Axis::labels, &Axis::labels);
}

bool differs(const Tensor& now, const Tensor& before) {
  return !comparable(now, before) ||
         !std::ranges::equal(now.values, before.values,
                             [](double a, double b) { return !differs(a, b); });
}

namespace {

bool are_same(double actual, double desired) {
  return actual == desired || (std::isnan(actual) && std::isnan(desired));
}

}  // namespace

bool is_close(double actual, double desired, const Tolerance& tolerance) {
  if (are_same(actual, desired)) return true;
  if (!std::isfinite(actual) || !std::isfinite(desired)) return false;
  const double apart = std::abs(actual - desired);
  return apart <= tolerance.absolute + tolerance.relative * std::abs(desired) ||
         apart <= tolerance.least;
}

Difference difference_of(std::span<const double> actual, std::span<const double> desired,
                         const Tolerance& tolerance) {
  if (actual.size() != desired.size()) throw std::logic_error("difference_of: sizes differ");
  Difference difference{.elements = actual.size(), .first = {}};
  bool some_desired = false;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    some_desired = some_desired || desired[i] != 0;
    difference.nan_both += std::isnan(actual[i]) && std::isnan(desired[i]) ? 1 : 0;
    if (are_same(actual[i], desired[i])) continue;
    difference.identical = false;
    const double apart = std::abs(actual[i] - desired[i]);  // NaN loses every comparison
    if (apart > difference.largest_absolute) difference.largest_absolute = apart;
    const double relative = desired[i] == 0 ? 0 : apart / std::abs(desired[i]);
    if (relative > difference.largest_relative) difference.largest_relative = relative;
    if (is_close(actual[i], desired[i], tolerance)) continue;
    ++difference.mismatched;
    if (std::isnan(actual[i]) || std::isnan(desired[i])) ++difference.nan_mismatched;
    if (!difference.first) difference.first = i;
  }
  if (!difference.identical && !some_desired) {
    difference.largest_relative = infinity;
  }
  return difference;
}

ErrorStatistics error_statistics(std::span<const double> actual, std::span<const double> desired) {
  std::vector<double> apart;
  double sum = 0;
  double product = 0;
  double of_actual = 0;
  double of_desired = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (!std::isfinite(actual[i]) || !std::isfinite(desired[i])) continue;
    apart.push_back(std::abs(actual[i] - desired[i]));
    sum += apart.back();
    product += actual[i] * desired[i];
    of_actual += actual[i] * actual[i];
    of_desired += desired[i] * desired[i];
  }
  if (apart.empty()) return {};
  const double place = 0.99 * static_cast<double>(apart.size() - 1);
  const auto below = apart.begin() + static_cast<std::ptrdiff_t>(place);
  std::ranges::nth_element(apart, below);
  const double next = below + 1 == apart.end() ? *below : *std::min_element(below + 1, apart.end());
  const double size = std::sqrt(of_actual) * std::sqrt(of_desired);
  return {.cells = apart.size(),
          .mean = sum / static_cast<double>(apart.size()),
          .percentile = *below + (place - std::floor(place)) * (next - *below),
          .cosine = size > 0 ? product / size : 0};
}

}  // namespace qkv::inline tensor
