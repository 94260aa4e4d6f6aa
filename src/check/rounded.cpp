#include "check/rounded.hpp"

#include <algorithm>
#include <cmath>

namespace qkv {
namespace {

struct BinaryRule {
  Precision precision;
  int most_decimals;
  double nearness;  // how far a stored number is from the one that was meant, relatively
};
constexpr BinaryRule rules[] = {{Precision::bfloat16, 2, 0x1p-8},
                                {Precision::float16, 3, 0x1p-11},
                                {Precision::float32, 6, 0x1p-24},
                                {Precision::float64, 12, 0x1p-52}};

}  // namespace

std::optional<int> rounded_decimals(const Cells& cells, Precision precision) {
  const auto* rule = std::find_if(std::begin(rules), std::end(rules), [&](const BinaryRule& one) {
    return one.precision == precision;
  });
  if (rule == std::end(rules)) return {};
  int decimals = 0;
  double power = 1;
  for (const Numeral& cell : cells) {
    const double x = cell.value;
    if (!std::isfinite(x)) continue;
    while (std::abs(std::round(x * power) / power - x) > rule->nearness * std::abs(x)) {
      if (++decimals > rule->most_decimals) return {};
      power *= 10;
    }
  }
  return decimals;
}

void take_as_meant(Handed& handed) {
  if (handed.precision == Precision::float64) return;
  const auto decimals = rounded_decimals(handed.cells, handed.precision);
  if (!decimals) return;
  const double power = std::pow(10.0, *decimals);
  std::vector<Numeral> cells = handed.cells.copy();
  for (Numeral& cell : cells) {
    if (std::isfinite(cell.value)) cell.value = std::round(cell.value * power) / power;
    cell.decimals = *decimals;
  }
  handed.cells = Cells(std::move(cells));
  handed.precision = Precision::digits;
}

}  // namespace qkv
