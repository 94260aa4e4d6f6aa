#include "verdicts/compared_tolerance.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "check/tolerance/precision.hpp"
#include "verdicts/compared_parts.hpp"

namespace qkv {

std::string tolerance_text(const ComparedStep& step) {
  return fmt::format("rtol={:g}, atol={:g}", step.tolerance.relative, step.tolerance.absolute);
}

namespace {

// What a program is allowed is each step's own.
std::string judged_tolerance(const Comparison& comparison) {
  double largest = 0;
  for (const ComparedStep& step : comparison.steps) {
    if (step.judged) largest = std::max(largest, step.tolerance.absolute);
  }
  if (largest == 0) return {};
  return fmt::format(
      "Tolerance: each step's own, as qkv check has it for such numbers, {:.2g} at most; what "
      "follows from the program's own numbers before it is right\n",
      largest);
}

std::string usual_text(const ComparedStep& step) {
  if (step.terms == 0) return tolerance_text(step);
  const UsualTolerance& usual = usual_tolerance(step.precision);
  const std::string whose =
      fmt::format(" (as torch.testing.assert_close has it for {}{})",
                  usual.precision == Precision::digits ? "float64" : usual.name,
                  step.terms == 1 ? "" : fmt::format(", times √{} for as many terms", step.terms));
  if (!goes_by_largest(step.precision)) return tolerance_text(step) + whose;
  return fmt::format("{}{}, and at least 2^{} of the step's largest number", tolerance_text(step),
                     whose, std::ilogb(rule_of(step.precision).floor));
}

double power_above(double x) {
  const double power = std::pow(10.0, std::ceil(std::log10(x)));
  return power < x ? 10 * power : power;
}

}  // namespace

std::string tolerances_text(const Comparison& comparison) {
  std::vector<std::string> lines;
  for (const ComparedStep& step : comparison.steps) {
    if (!has_numbers(step) || step.judged) continue;
    std::string line = usual_text(step);
    if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);
  }
  const std::string judged = judged_tolerance(comparison);
  if (lines.empty()) return judged;
  return judged + fmt::format("Tolerance: |actual - desired| <= atol + rtol * |desired|, {}\n",
                              fmt::join(lines, "; "));
}

std::string rounding_hint(const ComparedStep& step) {
  if (step.judged) return {};
  for (const SideMatrix* side : {step.actual, step.desired}) {
    if (side->decimals.value_or(0) == 0) continue;  // whole numbers are exact
    const double half_unit = 0.5 * std::pow(10.0, -*side->decimals);
    if (step.difference.largest_absolute > half_unit * (1 + 1e-9)) continue;
    return fmt::format(
        "All are within half a unit of the {} decimals of {}: --atol {:g} allows for "
        "rounding.\n",
        *side->decimals, side == step.actual ? "ACTUAL" : "DESIRED", half_unit);
  }
  return {};
}

std::string vanishing_hint(const ComparedStep& step) {
  constexpr double units = 1e-12;  // of the largest number: thousands of float64's last places
  double largest = 1;
  for (const double value : step.desired->tensor.values) {
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
  }
  const Difference& difference = step.difference;
  const bool is_rounding = !step.judged && difference.nan_mismatched == 0 &&
                           difference.largest_absolute <= units * largest;
  if (!is_rounding || step.tolerance.absolute > 0) return {};
  return fmt::format(
      "None differs by more than {:.2g}, which is rounding: --atol {:.0e} allows for it.\n",
      difference.largest_absolute, power_above(difference.largest_absolute));
}

bool is_rounding(const ComparedStep& step) {
  return step.sameness == Sameness::differs &&
         !(rounding_hint(step).empty() && vanishing_hint(step).empty());
}

}  // namespace qkv
