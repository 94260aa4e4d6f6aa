#include "check/unit.hpp"

#include <algorithm>
#include <cmath>

namespace qkv {
namespace {

double floor_of(const Handed& handed) {
  double largest = 1;
  for (const Numeral& cell : handed.cells) {
    if (std::isfinite(cell.value)) largest = std::max(largest, std::abs(cell.value));
  }
  return (handed.precision == Precision::float64 ? 1e-12 : 1e-6) * largest;
}

bool are_whole(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(), [](double x) {
    return !std::isfinite(x) || std::abs(x - std::round(x)) <= 1e-9 * std::max(1.0, std::abs(x));
  });
}

bool is_binary(const Handed& handed) { return handed.precision != Precision::digits; }

}  // namespace

int most_decimals(const Handed& handed) {
  int plain = 0;
  int scientific = 0;
  for (const Numeral& cell : handed.cells) {
    if (!std::isfinite(cell.value)) continue;
    int& most = cell.scientific ? scientific : plain;
    most = std::max(most, cell.decimals);
  }
  return plain > 0 ? plain : scientific;
}

Units units_of(const Handed& handed, std::span<const double> right, int others,
               std::optional<int> digits) {
  Units units;
  const double floor = floor_of(handed);
  units.decimals = digits.value_or(most_decimals(handed));
  if (is_binary(handed) && !digits) {
    units.of_cell.assign(handed.cells.size(), floor);
    units.decimals = handed.precision == Precision::float64 ? 12 : 6;
    return units;
  }
  const bool has_exponents = std::any_of(handed.cells.begin(), handed.cells.end(),
                                         [](const Numeral& cell) { return cell.scientific; });
  double unit = std::pow(10.0, -units.decimals);
  if (!digits && units.decimals == 0 && !has_exponents) {
    // A learner who writes no decimals anywhere does not round: those numbers are meant as they
    // are.
    units.exact = others == 0 || are_whole(right);
    if (!units.exact) units.decimals = others;
    unit = units.exact ? 0 : std::pow(10.0, -others);
  }
  for (const Numeral& cell : handed.cells) {
    const bool own = cell.scientific && !digits;
    units.of_cell.push_back(std::max(floor, own ? std::pow(10.0, -cell.decimals) : unit));
  }
  return units;
}

}  // namespace qkv
