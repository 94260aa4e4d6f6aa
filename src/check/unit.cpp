#include "check/unit.hpp"

#include <algorithm>
#include <cmath>

namespace qkv {
namespace {

/// How precise a number of each kind is, for magnitudes of 1 (SPEC, section 5; half floats keep 11
/// bits, bfloat16 keeps 8).
double precision_of(Precision precision) {
  switch (precision) {
    case Precision::float64: return 1e-12;
    case Precision::float16: return 1e-3;
    case Precision::bfloat16: return 1e-2;
    case Precision::float32:
    case Precision::digits: return 1e-6;
  }
  return 1e-6;
}

double floor_of(const Handed& handed) {
  double largest = 1;
  for (const Numeral& cell : handed.cells) {
    if (std::isfinite(cell.value)) largest = std::max(largest, std::abs(cell.value));
  }
  return precision_of(handed.precision) * largest;
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
    units.decimals = static_cast<int>(std::lround(-std::log10(precision_of(handed.precision))));
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
