#include "check/compare/tolerance.hpp"

#include <algorithm>
#include <cmath>

#include "check/compare/side.hpp"
#include "check/tolerance/precision.hpp"

namespace qkv {
namespace {

// From the coarsest on.
constexpr UsualTolerance usual[] = {
    {Precision::bfloat16, "bfloat16", {1.6e-2, 1e-5}},
    {Precision::float16, "float16", {1e-3, 1e-5}},
    {Precision::float32, "float32", {1.3e-6, 1e-5}},
    {Precision::float64, "float64", {1e-7, 1e-7}},
    {Precision::digits, "numbers in digits", {1e-7, 1e-7}},
};

// What numbers of a precision tell apart at most, beside the largest that is desired.
double floor_of(Precision precision, std::span<const double> desired) {
  const PrecisionRule& rule = rule_of(precision);
  double largest = rule.least;
  for (const double x : desired) {
    if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
  }
  return rule.floor * largest;
}

}  // namespace

std::optional<Tolerance> ToleranceChoice::of(std::string_view step) const {
  const auto last = std::find_if(of_steps.rbegin(), of_steps.rend(), [&](const StepTolerance& one) {
    return matched(one.steps, step).has_value();
  });
  if (last != of_steps.rend()) {
    return Tolerance{.relative = last->tolerance, .absolute = last->tolerance};
  }
  if (!relative && !absolute) return {};
  constexpr Tolerance numpy = {.relative = 1e-7, .absolute = 0};
  return Tolerance{.relative = relative.value_or(numpy.relative),
                   .absolute = absolute.value_or(numpy.absolute)};
}

const UsualTolerance& usual_tolerance(Precision precision) {
  return *std::find_if(std::begin(usual), std::end(usual),
                       [&](const UsualTolerance& one) { return one.precision == precision; });
}

bool goes_by_largest(Precision precision) {
  return precision == Precision::float16 || precision == Precision::bfloat16;
}

Tolerance tolerance_of_dumps(Precision precision, std::span<const double> desired,
                             std::size_t terms) {
  const double factor = std::sqrt(static_cast<double>(terms));
  const Tolerance& usual_one = usual_tolerance(precision).tolerance;
  return {.relative = factor * usual_one.relative,
          .absolute = factor * usual_one.absolute,
          .least = goes_by_largest(precision) ? floor_of(precision, desired) : 0};
}

Tolerance tolerance_of_lessons(std::span<const double> desired) {
  return {.relative = 0, .absolute = floor_of(Precision::float64, desired)};
}

}  // namespace qkv
