#include "check/tolerance/precision.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>

namespace qkv::inline check {
namespace {

constexpr double slack_of_unit = 1e-9;  // relative

// True for a sum of halves, quarters, …, as exact arithmetic also gives.
bool is_dyadic(double x, int decimals) {
  return std::ldexp(x, decimals) == std::trunc(std::ldexp(x, decimals));
}

bool is_whole(const Numeral& cell) {
  return !std::isfinite(cell.value) || cell.value == std::trunc(cell.value);
}

// How many digits of different numbers are evidence of rounding. Digits of a number that is no sum
// of halves and quarters count twice.
constexpr std::size_t enough_digits = 3;
std::size_t digits_that_show(const NumeralCells& cells, int decimals, bool of_dyadic) {
  if (decimals <= 0) return 0;
  std::set<double> different;  // at most as many as needed
  std::size_t digits = 0;
  for (const Numeral& cell : cells) {
    const double x = cell.value;
    if (digits >= enough_digits) break;
    const std::size_t weight = is_whole(cell) ? 0 : !is_dyadic(x, decimals) ? 2 : of_dyadic ? 1 : 0;
    if (weight > 0 && different.insert(x).second) {
      digits += weight * static_cast<std::size_t>(decimals);
    }
  }
  return digits;
}

// True if most numbers that no program would produce are the expected ones, rounded.
bool are_mostly_rounded(const SubmittedArray& submitted, const Expected& expected, int decimals,
                        double program_unit) {
  const double unit = std::pow(10.0, -decimals) * (1 + slack_of_unit);
  std::size_t off = 0;
  std::size_t rounded = 0;
  for (std::size_t i = 0; i < submitted.cells.size() && i < expected.from_own.size(); ++i) {
    const double x = submitted.cells[i].value;
    const double miss =
        std::min(std::abs(x - expected.from_own[i]), std::abs(x - expected.truth[i]));
    if (!(miss > program_unit)) continue;
    ++off;
    rounded += miss <= unit ? 1 : 0;
  }
  return 2 * rounded > off;
}

}  // namespace

bool has_more_decimals(double x, int decimals, double slack) {
  const double power = std::pow(10.0, decimals);
  return std::abs(std::round(x * power) / power - x) > slack;
}

std::optional<int> detect_rounding(const SubmittedArray& submitted, const Expected& expected,
                                   const OtherDecimals& others, double program_unit) {
  if (!submitted.rounded_to || std::ranges::all_of(submitted.cells, is_whole)) return {};
  const auto is_coarse = [&](int decimals) { return std::pow(10.0, -decimals) > program_unit; };
  const auto more_is_due = [&](int decimals) {
    const double slack = std::min(program_unit, 0.1 * std::pow(10.0, -decimals));
    const auto needs_more = [&](double x) {
      return std::isfinite(x) && has_more_decimals(x, decimals, slack);
    };
    return std::ranges::any_of(expected.from_own, needs_more) ||
           std::ranges::any_of(expected.truth, needs_more);
  };
  const int decimals = *submitted.rounded_to;
  constexpr int telling = 2;  // one decimal matches too often by chance
  const int likely = std::max(decimals, others.rounded > 0 ? others.rounded : telling);
  // Dividing by 4 instead of 2 gives more decimals than expected, without rounding.
  const bool more_are_due = more_is_due(decimals);
  const bool are_not_due = more_are_due || !more_is_due(decimals - 1);
  if (is_coarse(decimals) && are_not_due &&
      digits_that_show(submitted.cells, decimals, more_are_due) >= enough_digits) {
    return decimals;
  }
  const bool shows = (are_not_due && others.rounded > 0) ||
                     are_mostly_rounded(submitted, expected, likely, program_unit);
  return shows && is_coarse(likely) ? std::optional(likely) : std::nullopt;
}

int rounded_decimals_of(const SubmittedArray& submitted) {
  if (submitted.precision == Precision::digits) return most_decimals(submitted);
  const int decimals = submitted.rounded_to.value_or(0);
  return digits_that_show(submitted.cells, decimals, false) >= enough_digits ? decimals : 0;
}

namespace {

struct Coarser {
  Precision precision;
  bool (*holds)(double);
  int bits;  ///< of a number's fraction
};

bool is_float32(double x) { return static_cast<double>(static_cast<float>(x)) == x; }

// Compared as float32, since printed digits are inexact: "0.33325195" is a float16.
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

constexpr Coarser kinds[] = {{Precision::bfloat16, is_bfloat16, 8},
                             {Precision::float16, is_float16, 11},
                             {Precision::float32, is_float32, 24}};

// True if a program printed all its digits.
bool is_printed_in_full(const SubmittedArray& submitted) {
  constexpr int by_hand = 6;
  int most = 0;
  for (const Numeral& cell : submitted.cells) {
    if (!std::isfinite(cell.value) || cell.value == 0) continue;
    const int place = static_cast<int>(std::floor(std::log10(std::abs(cell.value))));
    most = std::max(most, cell.scientific ? cell.decimals + place : cell.decimals);
  }
  return most > by_hand;
}

// True if a number is evidence of its type; halves and quarters are in all types.
bool tells(double x) {
  constexpr double thousand = 1000;
  return std::isfinite(x) && x * thousand != std::round(x * thousand);
}

// True if small numbers have finer bits than large ones of the type. Sums of products of short
// numbers all end at the same bit.
bool have_a_floating_point(const SubmittedArray& submitted, const Coarser& kind) {
  constexpr std::size_t enough = 6;
  constexpr int further = 3;
  std::set<double> different;
  double largest = 0;
  double finest = infinity;
  for (const Numeral& cell : submitted.cells) {
    const auto x = static_cast<double>(static_cast<float>(std::abs(cell.value)));
    if (!std::isfinite(x) || x == 0) continue;
    if (different.size() < enough) different.insert(x);
    int exponent = 0;
    const double whole = std::ldexp(std::frexp(x, &exponent), std::numeric_limits<float>::digits);
    const int zeros = std::countr_zero(static_cast<std::uint32_t>(whole));
    finest =
        std::min(finest, std::ldexp(1.0, exponent - std::numeric_limits<float>::digits + zeros));
    largest = std::max(largest, x);
  }
  return different.size() >= enough && largest >= std::ldexp(finest, kind.bits + further);
}

// True if at least two numbers, or the only one, fit the type and can't do so by chance.
bool are_all(const SubmittedArray& submitted, std::span<const double> expected,
             const Coarser& kind) {
  std::set<double> telling;
  std::size_t count = 0;
  bool is_off = false;
  for (std::size_t i = 0; i < submitted.cells.size(); ++i) {
    const double x = submitted.cells[i].value;
    if (!std::isfinite(x)) continue;
    if (!kind.holds(x)) return false;
    ++count;
    const bool is_due =
        i < expected.size() && (!std::isfinite(expected[i]) || kind.holds(expected[i]));
    is_off =
        is_off || i >= expected.size() || static_cast<float>(x) != static_cast<float>(expected[i]);
    if (telling.size() < 2 && tells(x) && !is_due) telling.insert(x);
  }
  return telling.size() >= std::min<std::size_t>(2, std::max<std::size_t>(1, count)) ||
         (is_off && have_a_floating_point(submitted, kind));
}

}  // namespace

Precision detect_precision(const SubmittedArray& submitted, std::span<const double> expected) {
  if (submitted.precision == Precision::digits && !is_printed_in_full(submitted))
    return submitted.precision;
  for (const Coarser& kind : kinds) {
    const bool is_wide =
        submitted.precision == Precision::float64 || submitted.precision == Precision::digits ||
        (submitted.precision == Precision::float32 && kind.precision != Precision::float32);
    // Digits are never judged more finely than float32.
    const bool matters =
        submitted.precision != Precision::digits || kind.precision != Precision::float32;
    if (is_wide && matters && are_all(submitted, expected, kind)) return kind.precision;
  }
  return submitted.precision;
}

}  // namespace qkv::inline check
