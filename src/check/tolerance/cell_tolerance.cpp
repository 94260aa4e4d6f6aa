#include "check/tolerance/cell_tolerance.hpp"

#include "tensor/matmul.hpp"
#include "text/number.hpp"

namespace qkv::inline check {
namespace {

// Assumed for the intermediate numbers of somebody who writes whole numbers only.
constexpr double on_the_way_to_whole = 1e-3;

// The largest finite magnitude, or `least`.
double scale_of(std::span<const double> right, double least = 1) {
  return std::max(least, largest_magnitude(right));
}

// Uses the learner's largest number, but one wild number must not excuse the others.
double scale_of(const SubmittedArray& submitted, std::span<const double> right) {
  double theirs = 1;
  submitted.cells.values().for_each_piece(
      [&](std::span<const double> piece) { theirs = scale_of(piece, theirs); }, Values::in_cache);
  return std::min(theirs, 10 * scale_of(right));
}

bool are_whole(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(), [](double x) {
    const double slack = 1e-9 * std::max(1.0, std::abs(x));
    return !std::isfinite(x) || std::abs(x - std::round(x)) <= slack;
  });
}

// Where the lesson hides a cell, the learner's own number may be a finite mask: it does not count.
double unit_where_seen(Precision precision, const Expected& expected) {
  if (all_finite(expected.truth) || !contains(expected.truth, -infinity))
    return unit_of_program(precision, expected.from_own);
  std::vector<double> seen(expected.from_own.begin(), expected.from_own.end());
  for (std::size_t i = 0; i < seen.size() && i < expected.truth.size(); ++i)
    if (expected.truth[i] == -infinity) seen[i] = -infinity;
  return unit_of_program(precision, seen);
}

// Whole results are exact. Where fractions are expected, the other matrices show how the learner
// rounds; if no number has a decimal, these were rounded to whole ones.
ToleranceBasis whole_number_basis(const Expected& expected, int others) {
  if (are_whole(expected.from_own)) return ToleranceBasis::whole;
  return others > 0 ? ToleranceBasis::other_matrices : ToleranceBasis::rounded;
}

ToleranceBasis digits_basis(const SubmittedArray& submitted, const Expected& expected, int others) {
  if (std::ranges::any_of(submitted.cells, &Numeral::scientific)) return ToleranceBasis::exponents;
  // Beside numbers with all their digits, a program prints a 0 as "0.0": it has not rounded there.
  constexpr int most_by_hand = 6;
  const bool is_printed = others > most_by_hand && are_whole(submitted.cells.values());
  return most_decimals(submitted) > (is_printed ? 1 : 0) ? ToleranceBasis::decimals
                                                         : whole_number_basis(expected, others);
}

// Returns the unit of plain notation; 0 if only the floor counts. Whole numbers that are rounded
// fractions may be off by a half, and by a tenth of the largest expected one.
double plain_unit(ToleranceBasis basis, int decimals, std::span<const double> right) {
  const double unit = std::pow(10.0, -decimals);
  switch (basis) {
    case ToleranceBasis::rounded: return std::min(0.5, scale_of(right, 0) / 10);
    case ToleranceBasis::other_matrices: return std::min(unit, scale_of(right, 0) / 10);
    case ToleranceBasis::decimals:
    case ToleranceBasis::exponents:
    case ToleranceBasis::requested: return unit;
    default: return 0;
  }
}

// Counts the significant digits of a number in e-notation.
int significant_digits(const Numeral& cell) {
  return cell.decimals + leading_place(cell.value) + 1;
}

// Sets the unit of intermediate numbers: of the plain numbers, or of those with the most digits.
void take_intermediate(const SubmittedArray& submitted, MatrixTolerance& units) {
  const auto is_plain = [](const Numeral& cell) {
    return !cell.scientific && std::isfinite(cell.value) && cell.value != 0;
  };
  const auto is_decimal = [](const Numeral& cell) { return !cell.scientific && cell.decimals > 0; };
  units.intermediate = units.plain;
  if (std::ranges::any_of(submitted.cells, is_decimal)) return;
  if (std::ranges::any_of(submitted.cells, is_plain)) {
    units.intermediate = on_the_way_to_whole;
    return;
  }
  for (std::size_t i = 0; i < units.of_cell.size(); ++i) {
    const Numeral& cell = submitted.cells[i];
    if (cell.value == 0 || !std::isfinite(cell.value)) continue;
    const int digits = significant_digits(cell);
    if (digits < units.significant) continue;
    units.intermediate = digits > units.significant
                             ? units.of_cell[i]
                             : std::max(*units.intermediate, units.of_cell[i]);
    units.significant = digits;
  }
}

// Sets the units of cells in e-notation, between `units.floor` and half of the largest expected
// number: the last digit of 1e300 is worth 1e300, which is no rounding here. A 0 has no exponent,
// so it takes the plain unit.
void take_exponents(const SubmittedArray& submitted, const Expected& expected, int others,
                    MatrixTolerance& units) {
  if (units.decimals <= 0) {
    const ToleranceBasis basis = whole_number_basis(expected, others);
    units.plain = std::max(units.floor, plain_unit(basis, others, expected.from_own));
  }
  const double most = scale_of(expected.from_own) / 2;
  for (const Numeral& cell : submitted.cells) {
    const double own = std::min(most, std::pow(10.0, -cell.decimals));
    const bool has_exponent = cell.scientific && cell.value != 0;
    units.of_cell.push_back(has_exponent ? std::max(units.floor, own) : units.plain);
  }
  take_intermediate(submitted, units);
}

}  // namespace

double unit_of_program(Precision precision, std::span<const double> right) {
  const PrecisionRule& rule = rule_of(precision);
  return rule.floor * scale_of(right, rule.least);
}

double MatrixTolerance::largest() const {
  return of_cell.empty() ? plain : *std::max_element(of_cell.begin(), of_cell.end());
}

double MatrixTolerance::unsubmitted(std::span<const double> numbers) const {
  if (basis == ToleranceBasis::whole || basis == ToleranceBasis::other_matrices ||
      basis == ToleranceBasis::rounded)
    return on_the_way_to_whole;
  const double least = unit_of_program(precision, numbers);
  if (are_written()) return intermediate.value_or(std::max(least, std::pow(10.0, -decimals)));
  return std::max(least, intermediate.value_or(0));
}

double MatrixTolerance::unsubmitted_cell(double unit, double x) const {
  if (unit == 0 || significant == 0 || x == 0 || !std::isfinite(x)) return unit;
  return std::max(unit, std::pow(10.0, leading_place(x) + 1 - significant));
}

int MatrixTolerance::unsubmitted_decimals() const {
  if (!are_written()) return rule_of(Precision::float64).decimals;
  return static_cast<int>(std::lround(-std::log10(unsubmitted({}))));
}

int most_decimals(const SubmittedArray& submitted) {
  if (submitted.precision != Precision::digits) {
    return submitted.rounded_to.value_or(rule_of(submitted.precision).decimals);
  }
  int plain = 0;
  int scientific = 0;
  for (const Numeral& cell : submitted.cells) {
    if (!std::isfinite(cell.value)) continue;
    int& most = cell.scientific ? scientific : plain;
    most = std::max<int>(most, cell.decimals);
  }
  return plain > 0 ? plain : scientific;
}

MatrixTolerance matrix_tolerance(const SubmittedArray& submitted, const Expected& expected,
                                 const OtherDecimals& others, std::optional<int> digits) {
  const std::span<const double> right = expected.from_own;
  MatrixTolerance units;
  units.precision = detect_precision(submitted, right, true);  // else adopt_common_type found it
  // A coarser type shows only in numbers that the file's own type resolves.
  if (units.precision != submitted.precision &&
      unit_where_seen(submitted.precision, expected) >= unit_where_seen(units.precision, expected))
    units.precision = submitted.precision;
  units.decimals = most_decimals(submitted);
  if (digits) {
    units.basis = ToleranceBasis::requested;
    units.decimals = *digits;
  } else if (units.precision == Precision::digits) {
    units.basis = digits_basis(submitted, expected, others.most());
    if (units.basis == ToleranceBasis::other_matrices) units.decimals = others.most();
  } else {
    // Large numbers may be coarser in their type than what the program rounded on the way to them.
    const auto rounded = detect_rounding(submitted, expected, others);
    if (rounded) units.intermediate = std::pow(10.0, -*rounded);
    const bool is_coarse =
        rounded && units.intermediate > unit_where_seen(units.precision, expected);
    units.basis = is_coarse ? ToleranceBasis::decimals : ToleranceBasis::type;
    units.decimals = is_coarse ? *rounded : rule_of(units.precision).decimals;
  }
  const bool is_program = units.precision != Precision::digits;
  units.floor = is_program ? unit_where_seen(units.precision, expected)
                           : rule_of(units.precision).floor * scale_of(submitted, right);
  if (units.basis == ToleranceBasis::whole) units.floor = std::min(units.floor, half_of_one);
  units.plain = std::max(units.floor, plain_unit(units.basis, units.decimals, right));
  if (units.basis == ToleranceBasis::exponents)
    take_exponents(submitted, expected, others.most(), units);
  return units;
}

MatrixTolerance copied_tolerance(const SubmittedArray& submitted, std::span<const double> truth,
                                 const OtherDecimals& others, std::optional<int> digits) {
  MatrixTolerance units = matrix_tolerance(submitted, {truth, truth}, others, digits);
  std::vector<double> own;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    const Numeral& cell = submitted.cells[i];
    const int decimals = units.of_cell.empty() || !cell.scientific ? units.decimals : cell.decimals;
    const double slack = 1e-9 * std::max(1.0, std::abs(truth[i]));
    // Copying never rounds to a whole number, however large.
    constexpr int enough = 3;
    const bool is_coarse = decimals <= 0 && units.precision == Precision::digits &&
                           !(cell.scientific && significant_digits(cell) >= enough);
    const bool may_be_cut = !is_coarse && has_more_decimals(truth[i], decimals, slack);
    own.push_back(may_be_cut ? units.of(i) : units.floor);
  }
  units.of_cell = std::move(own);
  if (units.largest() == units.floor) units.basis = ToleranceBasis::copied;
  return units;
}

std::optional<Tolerance> ToleranceChoice::of(std::string_view step) const {
  const auto last = std::find_if(of_steps.rbegin(), of_steps.rend(),
                                 [&](const auto& one) { return matches(one.first, step); });
  if (last != of_steps.rend()) return Tolerance{.relative = last->second, .absolute = last->second};
  if (!relative && !absolute) return {};
  return Tolerance{.relative = relative.value_or(1e-7), .absolute = absolute.value_or(0)};
}

bool uses_largest(Precision precision) { return rule_of(precision).least < 1; }

Tolerance tolerance_of_dumps(Precision precision, std::span<const double> desired,
                             std::size_t terms) {
  const double factor = std::sqrt(static_cast<double>(terms));
  const PrecisionRule& usual = rule_of(precision);
  return {.relative = factor * usual.relative,
          .absolute = factor * usual.absolute,
          .least = uses_largest(precision) ? unit_of_program(precision, desired) : 0};
}

Tolerance tolerance_of_lessons(std::span<const double> desired) {
  return {.relative = 0, .absolute = unit_of_program(Precision::float64, desired)};
}

}  // namespace qkv::inline check
