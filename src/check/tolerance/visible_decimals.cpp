#include "check/tolerance/visible_decimals.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace qkv {
namespace {

constexpr double slack_of_unit = 1e-9;  // relative

// Whether so many decimals make it a sum of halves, quarters, …, as exact arithmetic does, too.
bool is_dyadic(double x, int decimals) {
  return std::ldexp(x, decimals) == std::trunc(std::ldexp(x, decimals));
}

bool is_whole(const Numeral& cell) {
  return !std::isfinite(cell.value) || cell.value == std::trunc(cell.value);
}

// How many digits of different numbers say that they were rounded: those of a number that no sum
// of halves and quarters makes count twice.
constexpr std::size_t enough_digits = 3;
std::size_t digits_that_show(const Cells& cells, int decimals, bool of_dyadic) {
  if (decimals <= 0) return 0;
  std::set<double> different;  // as many as it takes
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

// Whether most of the numbers that no program would have are what is due, rounded.
bool are_mostly_rounded(const Handed& handed, const Due& due, int decimals, double program_unit) {
  const double unit = std::pow(10.0, -decimals) * (1 + slack_of_unit);
  std::size_t off = 0;
  std::size_t rounded = 0;
  for (std::size_t i = 0; i < handed.cells.size() && i < due.from_own.size(); ++i) {
    const double x = handed.cells[i].value;
    const double miss = std::min(std::abs(x - due.from_own[i]), std::abs(x - due.truth[i]));
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

std::optional<int> visible_decimals(const Handed& handed, const Due& due,
                                    const OtherMatrices& others, double program_unit) {
  if (!handed.rounded_to || std::ranges::all_of(handed.cells, is_whole)) return {};
  const auto is_coarse = [&](int decimals) { return std::pow(10.0, -decimals) > program_unit; };
  const auto more_is_due = [&](int decimals) {
    const double slack = std::min(program_unit, 0.1 * std::pow(10.0, -decimals));
    const auto needs_more = [&](double x) {
      return std::isfinite(x) && has_more_decimals(x, decimals, slack);
    };
    return std::ranges::any_of(due.from_own, needs_more) ||
           std::ranges::any_of(due.truth, needs_more);
  };
  const int decimals = *handed.rounded_to;
  constexpr int telling = 2;  // of tenths, half of all numbers are rounded ones
  const int likely = std::max(decimals, others.rounded > 0 ? others.rounded : telling);
  // Who divided by 4 for 2 has two decimals more than are due, and rounded nothing.
  const bool more_are_due = more_is_due(decimals);
  const bool are_not_due = more_are_due || !more_is_due(decimals - 1);
  if (is_coarse(decimals) && are_not_due &&
      digits_that_show(handed.cells, decimals, more_are_due) >= enough_digits) {
    return decimals;
  }
  const bool shows =
      (are_not_due && others.rounded > 0) || are_mostly_rounded(handed, due, likely, program_unit);
  return shows && is_coarse(likely) ? std::optional(likely) : std::nullopt;
}

int rounded_decimals_of(const Handed& handed) {
  if (handed.precision == Precision::digits) return most_decimals(handed);
  const int decimals = handed.rounded_to.value_or(0);
  return digits_that_show(handed.cells, decimals, false) >= enough_digits ? decimals : 0;
}

}  // namespace qkv
