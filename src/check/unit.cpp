#include "check/unit.hpp"

#include <algorithm>
#include <cmath>

#include "check/precision.hpp"
#include "check/rounded.hpp"
#include "tensor/compare.hpp"

namespace qkv {
namespace {

Measure measure_of(Precision precision) {
  switch (precision) {
    case Precision::bfloat16: return Measure::bfloat16;
    case Precision::float16: return Measure::float16;
    case Precision::float32: return Measure::float32;
    case Precision::float64: return Measure::float64;
    default: return Measure::decimals;
  }
}

bool is_binary(const Handed& handed) { return handed.precision != Precision::digits; }

// The larger of 1 and the largest finite magnitude.
template <class Numbers, class Value>
double scale_of(const Numbers& numbers, const Value& value_of) {
  double largest = 1;
  for (const auto& number : numbers) {
    const double x = value_of(number);
    if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
  }
  return largest;
}

double scale_of(std::span<const double> right) {
  return scale_of(right, [](double x) { return x; });
}

// By what the learner wrote, but one wild number must not excuse the others.
double scale_of(const Handed& handed, std::span<const double> right) {
  const double own = scale_of(handed.cells, [](const Numeral& cell) { return cell.value; });
  return std::min(own, 10 * scale_of(right));
}

constexpr double whole_slack = 1e-9;  // relative

bool are_whole(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(), [](double x) {
    const double slack = whole_slack * std::max(1.0, std::abs(x));
    return !std::isfinite(x) || std::abs(x - std::round(x)) <= slack;
  });
}

// Whether a program's numbers are the due ones as precisely as they are stored. If they have few
// decimals then, that is because no more were due: nothing was rounded.
bool are_exact(const Handed& handed, const Due& due) {
  const std::size_t count = handed.cells.size();
  if (handed.stored == Precision::digits) return false;
  if (due.truth.size() != count || due.from_own.size() != count) return false;
  const Tolerance own{.absolute = rule_of(handed.stored).floor * scale_of(due.truth)};
  for (std::size_t i = 0; i < count; ++i) {
    const double x = handed.cells[i].value;
    if (std::isnan(x)) continue;
    if (!is_close(x, due.truth[i], own) || !is_close(x, due.from_own[i], own)) return false;
  }
  return true;
}

Measure measure_of(const Handed& handed, const Due& due, int others, std::optional<int> digits) {
  if (digits) return Measure::asked;
  if (are_exact(handed, due)) return measure_of(handed.stored);
  if (is_binary(handed)) {
    const auto decimals = rounded_decimals(handed.cells, handed.precision);
    if (!decimals) return measure_of(handed.precision);
    if (*decimals > 0) return Measure::decimals;
  } else {
    const bool has_exponents = std::any_of(handed.cells.begin(), handed.cells.end(),
                                           [](const Numeral& cell) { return cell.scientific; });
    if (has_exponents) return Measure::exponents;
    if (most_decimals(handed) > 0) return Measure::decimals;
  }
  // Whole answers are meant as they are. Where they are not whole, the other matrices tell how far
  // the learner rounds; if no number has a decimal, they were rounded to whole ones.
  if (are_whole(due.from_own)) return Measure::whole;
  return others > 0 ? Measure::elsewhere : Measure::rounded;
}

// The unit of what is written plainly; 0 where only the floor counts.
double plain_unit(const Units& units) {
  switch (units.measure) {
    case Measure::rounded: return whole_numbers_unit;
    case Measure::whole:
    case Measure::copied:
    case Measure::bfloat16:
    case Measure::float16:
    case Measure::float32:
    case Measure::float64: return 0;
    default: return std::pow(10.0, -units.decimals);
  }
}

bool has_more_decimals(double x, int decimals) {
  const double power = std::pow(10.0, decimals);
  return std::abs(std::round(x * power) / power - x) > 1e-9 * std::max(1.0, std::abs(x));
}

}  // namespace

double Units::largest() const {
  return of_cell.empty() ? plain : *std::max_element(of_cell.begin(), of_cell.end());
}

int most_decimals(const Handed& handed) {
  if (is_binary(handed)) {
    return rounded_decimals(handed.cells, handed.precision)
        .value_or(rule_of(handed.precision).decimals);
  }
  int plain = 0;
  int scientific = 0;
  for (const Numeral& cell : handed.cells) {
    if (!std::isfinite(cell.value)) continue;
    int& most = cell.scientific ? scientific : plain;
    most = std::max(most, cell.decimals);
  }
  return plain > 0 ? plain : scientific;
}

Units units_of(const Handed& handed, const Due& due, int others, std::optional<int> digits) {
  const std::span<const double> right = due.from_own;
  Units units;
  units.measure = measure_of(handed, due, others, digits);
  units.decimals = digits                                ? *digits
                   : units.measure == Measure::elsewhere ? others
                                                         : most_decimals(handed);
  const double scale = scale_of(handed, right);
  const double floor = rule_of(handed.precision).floor * scale;
  units.plain = std::max(floor, plain_unit(units));
  if (units.measure == Measure::whole) units.plain = std::max(floor, whole_slack * scale);
  if (units.measure != Measure::exponents) return units;
  // The last digit of 1e300 is worth 1e300: that much is no rounding of what is due here.
  const double most = std::max(1.0, scale_of(right) / 2);
  for (const Numeral& cell : handed.cells) {
    const double own = std::min(most, std::pow(10.0, -cell.decimals));
    units.of_cell.push_back(cell.scientific ? std::max(floor, own) : units.plain);
  }
  return units;
}

Units units_of_copy(const Handed& handed, std::span<const double> truth,
                    std::optional<int> digits) {
  Units units = units_of(handed, {truth, truth}, 0, digits);
  const double floor = rule_of(handed.precision).floor * scale_of(handed, truth);
  std::vector<double> own;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    const Numeral& cell = handed.cells[i];
    const int decimals = units.of_cell.empty() || !cell.scientific ? units.decimals : cell.decimals;
    own.push_back(has_more_decimals(truth[i], decimals) ? units.of(i) : floor);
  }
  units.of_cell = std::move(own);
  if (units.largest() == floor) units.measure = Measure::copied;
  return units;
}

}  // namespace qkv
