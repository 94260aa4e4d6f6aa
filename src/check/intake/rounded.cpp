#include "check/intake/rounded.hpp"

#include <cmath>

#include "check/tolerance/precision.hpp"

namespace qkv {

double rounded(double x, int decimals) {
  constexpr double whole_anyway = 1e15;
  const double power = std::pow(10.0, decimals);
  return std::abs(x) * power < whole_anyway ? std::round(x * power) / power : x;
}

std::optional<int> rounded_decimals(const Cells& cells, Precision precision) {
  if (precision == Precision::digits) return {};
  const PrecisionRule& rule = rule_of(precision);
  int decimals = 0;
  double power = 1;
  for (const Numeral& cell : cells) {
    const double x = cell.value;
    if (!std::isfinite(x)) continue;
    while (std::abs(std::round(x * power) / power - x) > rule.nearness * std::abs(x)) {
      if (++decimals > rule.decimals) return {};
      power *= 10;
    }
  }
  // Of large numbers in few bits every one has few decimals: 141.625 is next to 141.75 in float16.
  // Only a number that might as well have had a decimal more was rounded; what stands for -inf has
  // no say.
  std::ptrdiff_t might_have_more = 0;
  for (const Numeral& cell : cells) {
    const double x = std::abs(cell.value);
    if (!std::isfinite(x) || x == 0 || cell.value <= finite_mask) continue;
    might_have_more += rule.nearness * x <= 0.05 / power ? 1 : -1;
  }
  return might_have_more >= 0 ? std::optional(decimals) : std::nullopt;
}

void take_as_meant(Handed& handed) {
  handed.rounded_to = rounded_decimals(handed.cells, handed.precision);
  if (!handed.rounded_to || handed.precision == Precision::float64) return;
  Numerals cells = handed.cells.copy();
  for (Numeral& cell : cells) cell.value = rounded(cell.value, *handed.rounded_to);
  handed.cells = Cells(std::move(cells));
}

}  // namespace qkv
