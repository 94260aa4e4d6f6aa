#include "check/unit.hpp"

#include <algorithm>
#include <cmath>

namespace qkv {
namespace {

// What numbers of a precision can tell apart at most, relative to the larger of 1 and the matrix's
// largest; and the decimals that a binary file stands for.
struct PrecisionRule {
  Precision precision;
  double floor;
  int decimals;
  Measure measure;
};
constexpr PrecisionRule precision_rules[] = {{Precision::digits, 1e-6, 0, Measure::decimals},
                                             {Precision::float16, 1e-3, 3, Measure::float16},
                                             {Precision::float32, 1e-6, 6, Measure::float32},
                                             {Precision::float64, 1e-12, 12, Measure::float64}};

const PrecisionRule& rule_of(Precision precision) {
  return precision_rules[static_cast<std::size_t>(precision)];
}

double floor_of(const Handed& handed) {
  double largest = 1;
  for (const Numeral& cell : handed.cells) {
    if (std::isfinite(cell.value)) largest = std::max(largest, std::abs(cell.value));
  }
  return rule_of(handed.precision).floor * largest;
}

bool are_whole(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(), [](double x) {
    return !std::isfinite(x) || std::abs(x - std::round(x)) <= 1e-9 * std::max(1.0, std::abs(x));
  });
}

Measure measure_of(const Handed& handed, std::span<const double> right, int others,
                   std::optional<int> digits) {
  if (digits) return Measure::asked;
  if (handed.precision != Precision::digits) return rule_of(handed.precision).measure;
  const bool has_exponents = std::any_of(handed.cells.begin(), handed.cells.end(),
                                         [](const Numeral& cell) { return cell.scientific; });
  if (has_exponents) return Measure::exponents;
  if (most_decimals(handed) > 0) return Measure::decimals;
  // Whole answers are meant as they are. Where they are not whole, the other matrices tell how far
  // the learner rounds; if no number has a decimal, they were rounded to whole ones.
  if (are_whole(right)) return Measure::whole;
  return others > 0 ? Measure::elsewhere : Measure::rounded;
}

int decimals_by(Measure measure, const Handed& handed, int others, std::optional<int> digits) {
  if (measure == Measure::asked) return *digits;
  if (measure == Measure::elsewhere) return others;
  if (handed.precision != Precision::digits) return rule_of(handed.precision).decimals;
  return most_decimals(handed);
}

// The unit of what is written plainly; 0 where only the floor counts.
double plain_unit(const Units& units, Precision precision) {
  if (units.measure == Measure::rounded) return whole_numbers_unit;
  const bool is_binary = precision != Precision::digits && units.measure != Measure::asked;
  if (units.measure == Measure::whole || is_binary) return 0;
  return std::pow(10.0, -units.decimals);
}

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
  units.measure = measure_of(handed, right, others, digits);
  units.decimals = decimals_by(units.measure, handed, others, digits);
  const double floor = floor_of(handed);
  const double plain = std::max(floor, plain_unit(units, handed.precision));
  units.of_cell.assign(handed.cells.size(), plain);
  if (units.measure != Measure::exponents) return units;
  for (std::size_t i = 0; i < handed.cells.size(); ++i) {
    const Numeral& cell = handed.cells[i];
    if (cell.scientific) units.of_cell[i] = std::max(floor, std::pow(10.0, -cell.decimals));
  }
  return units;
}

}  // namespace qkv
