#include "check/tolerance/cell_tolerance.hpp"

#include <bit>

#include "text/number.hpp"

namespace qkv::inline check {
namespace {

bool is_whole(const Numeral& cell) {
  return !std::isfinite(cell.value) || cell.value == std::trunc(cell.value);
}

// Counts the decimals of different numbers that are no sums of halves and quarters, up to `enough`.
// `counts` selects cells.
constexpr int enough = 2;
template <class Counts>
int telling_decimals(const NumeralCells& cells, int decimals, const Counts& counts) {
  std::set<double> different;
  const auto found = [&] { return static_cast<int>(different.size()) * decimals; };
  for (std::size_t i = 0; decimals > 0 && i < cells.size() && found() < enough; ++i) {
    const double x = cells[i].value;
    const double scaled = std::ldexp(x, decimals);  // whole if x is a sum of halves, quarters, …
    if (std::isfinite(x) && scaled != std::trunc(scaled) && counts(i)) different.insert(x);
  }
  return found();
}

// True if a right number has more decimals than were written: a program in full would show them.
bool needs_more(double right, int decimals) {
  return std::isfinite(right) &&
         has_more_decimals(right, decimals, 1e-3 * std::pow(10.0, -decimals));
}

// True if a program printed all its digits.
bool is_printed_in_full(const SubmittedArray& submitted) {
  constexpr int by_hand = 6;
  int most = 0;
  for (const Numeral& cell : submitted.cells) {
    if (!std::isfinite(cell.value) || cell.value == 0) continue;
    most = std::max(most, cell.decimals + (cell.scientific ? leading_place(cell.value) : 0));
  }
  return most > by_hand;
}

// Returns the largest distance from a whole number, or the first that shows a decimal.
double largest_fraction(const NumeralCells& cells) {
  constexpr double shows_a_decimal = 0.05;
  double largest = 0;
  for (const Numeral& cell : cells) {
    if (std::isfinite(cell.value))
      largest = std::max(largest, std::abs(cell.value - std::round(cell.value)));
    if (largest > shows_a_decimal) break;
  }
  return largest;
}

constexpr int more_than_any = 99;

// Returns how many decimals the numbers need, if they were not clearly rounded to few: large
// numbers of few bits need few in any case.
int decimals_needed(const SubmittedArray& submitted) {
  if (submitted.precision == Precision::digits)
    return is_printed_in_full(submitted) ? more_than_any : 0;
  const PrecisionRule& rule = rule_of(submitted.precision);
  int needed = 0;
  for (const Numeral& cell : submitted.cells) {
    const double slack = rule.nearness * std::abs(cell.value);
    if (submitted.rounded_to || !std::isfinite(cell.value)) continue;
    while (needed <= rule.decimals && has_more_decimals(cell.value, needed, slack)) ++needed;
    if (needed > rule.decimals) return more_than_any;
  }
  return needed;
}

struct Coarser {
  Precision precision;
  bool (*holds)(double);
};

bool is_float32(double x) { return static_cast<double>(static_cast<float>(x)) == x; }

// Both look at the nearest float32, since printed digits are inexact: "0.33325195" is a float16.
bool is_bfloat16(double x) { return (std::bit_cast<std::uint32_t>(float(x)) & 0xffff) == 0; }

// Eleven bits, fewer for subnormal numbers.
bool is_float16(double x) {
  const auto single = static_cast<double>(static_cast<float>(x));
  constexpr double least = 0x1p-24;
  int exponent = 0;
  const double fraction = std::frexp(single, &exponent);
  const double bits = exponent < -13 ? single / least : fraction * 0x1p11;
  return std::abs(single) <= 65504 && bits == std::trunc(bits);
}

constexpr Coarser kinds[] = {{Precision::bfloat16, is_bfloat16},
                             {Precision::float16, is_float16},
                             {Precision::float32, is_float32}};

// Digits are never judged more finely than float32.
bool is_for_digits(const Coarser& kind) { return kind.precision != Precision::float32; }

// True if the number is of the type, as far as its digits tell. 3.0000000000000004 is no float32.
bool is_of_type(const Numeral& cell, Precision written_as, const Coarser& kind) {
  const auto single = static_cast<double>(static_cast<float>(cell.value));
  double room = 0;
  if (written_as == Precision::digits) {
    // Half a unit of the last digit, and the rounding of those digits to a double.
    const double size = std::abs(cell.value);
    room = 0.5 * (std::pow(10.0, -cell.decimals) + (std::nextafter(size, infinity) - size));
  }
  return std::abs(cell.value - single) <= room && kind.holds(cell.value);
}

// True if small numbers have finer bits than large ones of the type. Sums of products of short
// numbers all end at the same bit.
bool have_a_floating_point(const SubmittedArray& submitted, const Coarser& kind) {
  constexpr std::size_t enough_numbers = 6;
  constexpr int further = 3;
  std::set<double> different;
  double largest = 0;
  double finest = infinity;
  for (const Numeral& cell : submitted.cells) {
    const auto x = static_cast<double>(static_cast<float>(std::abs(cell.value)));
    if (!std::isfinite(x) || x == 0) continue;
    if (different.size() < enough_numbers) different.insert(x);
    int exponent = 0;
    const double whole = std::ldexp(std::frexp(x, &exponent), std::numeric_limits<float>::digits);
    const int zeros = std::countr_zero(static_cast<std::uint32_t>(whole));
    finest =
        std::min(finest, std::ldexp(1.0, exponent - std::numeric_limits<float>::digits + zeros));
    largest = std::max(largest, x);
  }
  return different.size() >= enough_numbers &&
         largest * rule_of(kind.precision).nearness >= std::ldexp(finest, further);
}

// True if at least two numbers, or the only one, fit the type and can't do so by chance, one of
// them where the type does not hold what is expected. Beside finer arrays, short numbers may be
// exact: they are of half precision only if each is what is expected, rounded, or if they have a
// floating point.
bool are_all(const SubmittedArray& submitted, std::span<const double> expected, const Coarser& kind,
             bool beside_finer) {
  std::set<double> evidence;
  std::size_t count = 0;
  constexpr double roundings = 3;  // of a softmax: powers, their sum, the quotient
  const double near = roundings * rule_of(kind.precision).nearness;
  bool is_telling = false, is_off = false;
  bool is_rounded = true;
  for (std::size_t i = 0; i < submitted.cells.size(); ++i) {
    const double x = submitted.cells[i].value;
    if (!std::isfinite(x)) continue;
    if (!is_of_type(submitted.cells[i], submitted.precision, kind)) return false;
    ++count;
    const bool is_expected =
        i < expected.size() && (!std::isfinite(expected[i]) || kind.holds(expected[i]));
    is_off =
        is_off || i >= expected.size() || static_cast<float>(x) != static_cast<float>(expected[i]);
    is_rounded = is_rounded && i < expected.size() &&
                 std::abs(x - expected[i]) <= near * std::abs(expected[i]);
    if (x * 1000 == std::round(x * 1000)) continue;  // halves and quarters are in all types
    is_telling = is_telling || !is_expected;
    if (evidence.size() < 2) evidence.insert(x);
  }
  const bool may_be_exact = beside_finer && is_for_digits(kind) && !is_rounded;
  return (is_telling && !may_be_exact && evidence.size() >= std::min<std::size_t>(2, count)) ||
         (is_off && have_a_floating_point(submitted, kind));
}

}  // namespace

bool has_more_decimals(double x, int decimals, double slack) {
  const double power = std::pow(10.0, decimals);
  return std::abs(std::round(x * power) / power - x) > slack;
}

OtherDecimals decimals_of(const SubmittedArray& submitted, const Tensor* truth) {
  OtherDecimals found{.needed = decimals_needed(submitted)};
  if (found.needed == more_than_any) found = {.fraction = largest_fraction(submitted.cells)};
  if (!truth) return found;
  const auto is_written = [](const Numeral& cell) {
    return cell.decimals > 0 && !(cell.exact && cell.scientific);
  };
  const bool is_exact =
      submitted.precision == Precision::digits && std::ranges::none_of(submitted.cells, is_written);
  const int most = most_decimals(submitted);
  (is_exact ? found.exact : found.written) = most;
  const int few =
      submitted.precision == Precision::digits ? most : submitted.rounded_to.value_or(0);
  const std::span<const double> right = truth->values;
  const auto is_expected = [&](std::size_t i) {
    return i < right.size() && needs_more(right[i], few);
  };
  const int telling = telling_decimals(submitted.cells, few, is_expected);
  found.single = telling == 1 ? 1 : 0;
  const auto any = [](std::size_t) { return true; };
  if (telling_decimals(submitted.cells, few, any) >= enough) found.few = few;
  if (telling >= enough) found.rounded = few;
  return found;
}

void OtherDecimals::add(const OtherDecimals& matrix) {
  written = std::max(written, matrix.written);
  exact = std::max(exact, matrix.exact);
  few = std::max(few, matrix.few);
  rounded = std::max(rounded, matrix.rounded);
  needed = std::max(needed, matrix.needed);
  fraction = std::max(fraction, matrix.fraction);
  single += matrix.single;
  if (single < enough) return;
  few = std::max(few, 1);
  rounded = std::max(rounded, 1);
}

std::optional<int> detect_rounding(const SubmittedArray& submitted, const Expected& expected,
                                   const OtherDecimals& others) {
  const bool whole = std::ranges::all_of(submitted.cells, is_whole);
  const int needed = decimals_needed(submitted);
  const int own = whole ? 0 : submitted.rounded_to.value_or(needed);
  const int clear = std::max(submitted.rounded_to.value_or(0), others.few);
  // Numbers that round to whole ones, such as the weights of a sharp softmax, show nothing.
  const bool in_full = others.needed > clear || others.fraction > 0.5 * std::pow(10.0, -clear);
  if (in_full || needed > clear) return {};
  const auto is_expected = [&](std::size_t i) {
    return i < expected.truth.size() &&
           (needs_more(expected.from_own[i], own) || needs_more(expected.truth[i], own));
  };
  const int telling = telling_decimals(submitted.cells, own, is_expected);
  // Few decimals by chance are those of the other matrices.
  const int likely = telling >= enough ? own : std::max(own, others.few);
  const bool shows =
      telling + others.single >= enough || others.rounded > 0 || (telling > 0 && others.few > 0);
  return shows ? std::optional(likely) : std::nullopt;
}

bool is_held(double x, Precision type) {
  const auto kind = std::ranges::find(kinds, type, &Coarser::precision);
  return kind == std::end(kinds) || (is_float32(x) && kind->holds(x));
}

Precision detect_precision(const SubmittedArray& submitted, std::span<const double> expected,
                           bool beside_finer) {
  if (submitted.precision == Precision::digits && !is_printed_in_full(submitted))
    return submitted.precision;
  for (const Coarser& kind : kinds) {
    const bool is_wide =
        submitted.precision == Precision::float64 || submitted.precision == Precision::digits ||
        (submitted.precision == Precision::float32 && kind.precision != Precision::float32);
    const bool matters = submitted.precision != Precision::digits || is_for_digits(kind);
    if (is_wide && matters && are_all(submitted, expected, kind, beside_finer))
      return kind.precision;
  }
  return submitted.precision;
}

void adopt_common_type(const Trace& trace, std::vector<SubmittedArray>& arrays) {
  const auto holds = [](const SubmittedArray& array, const Coarser& kind) {
    if (array.precision == kind.precision) return true;
    const bool may_hold = array.precision == Precision::float32 ||
                          array.precision == Precision::float64 ||
                          (array.precision == Precision::digits && is_for_digits(kind));
    return may_hold && std::ranges::all_of(array.cells, [&](const Numeral& cell) {
             return !std::isfinite(cell.value) || is_of_type(cell, array.precision, kind);
           });
  };
  const auto is_shown = [&](const Coarser& kind) {
    return std::ranges::any_of(arrays, [&](const SubmittedArray& array) {
      return detect_precision(array, trace.at(array.name).values, false) == kind.precision;
    });
  };
  const auto common = std::ranges::find_if(kinds, [&](const Coarser& kind) {
    const auto holds_it = [&](const SubmittedArray& array) { return holds(array, kind); };
    return std::ranges::all_of(arrays, holds_it) && is_shown(kind);
  });
  if (common == std::end(kinds)) return;
  // One wrong number may be a float16 among a program's bfloat16 numbers.
  const Coarser& coarsest = kinds[0];
  std::vector<bool> are_coarsest(arrays.size(), false);
  if (common->precision == Precision::float16 && is_shown(coarsest)) {
    for (std::size_t i = 0; i < arrays.size(); ++i) are_coarsest[i] = holds(arrays[i], coarsest);
    if (2 * std::ranges::count(are_coarsest, true) <= std::ssize(arrays))
      are_coarsest.assign(arrays.size(), false);
  }
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    // Whole numbers are exact by hand.
    const bool is_exact =
        arrays[i].precision == Precision::digits && std::ranges::all_of(arrays[i].cells, is_whole);
    if (!is_exact) arrays[i].precision = are_coarsest[i] ? coarsest.precision : common->precision;
  }
}

}  // namespace qkv::inline check
