#include "render/number.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

namespace qkv {
namespace {

constexpr double longest_fixed = 1e7;
constexpr double longest_whole = 1e10;

std::string not_finite(double value) {
  if (std::isnan(value)) return "nan";
  return value < 0 ? "-inf" : "inf";
}

std::string without_sign_of_zero(std::string text) {
  if (text.starts_with('-') && text.find_first_not_of("-0.") == text.npos) text.erase(0, 1);
  return text;
}

std::string scientific(double value, int digits) {
  if (!std::isfinite(value)) return not_finite(value);
  return fmt::format("{:.{}e}", value, std::max(digits, 0));
}

/// "0.1480" → "0.148", "2.00e+07" → "2e+07".
std::string without_trailing_zeros(const std::string& text) {
  const std::size_t end = std::min(text.find('e'), text.size());
  std::string_view mantissa = std::string_view(text).substr(0, end);
  if (mantissa.find('.') == mantissa.npos) return text;
  while (mantissa.ends_with('0')) mantissa.remove_suffix(1);
  if (mantissa.ends_with('.')) mantissa.remove_suffix(1);
  return std::string(mantissa) + text.substr(end);
}

/// Fixed decimals would show nothing but zeros.
bool vanishes(double magnitude, int digits) {
  return magnitude > 0 && magnitude < std::pow(10.0, -std::max(digits, 0));
}

/// The number ends within so many decimals, but for the last bits of a sum.
bool ends_within(double value, int decimals) {
  const double power = std::pow(10.0, decimals);
  return std::abs(value - std::round(value * power) / power) <=
         1e-13 * std::max(1.0, std::abs(value));
}

}  // namespace

std::string number(double value, int digits) {
  if (!std::isfinite(value)) return not_finite(value);
  return without_sign_of_zero(fmt::format("{:.{}f}", value, std::max(digits, 0)));
}

std::string brief(double value, int digits) {
  const double magnitude = std::abs(value);
  if (magnitude < longest_fixed && !vanishes(magnitude, digits))
    return without_trailing_zeros(number(value, digits));
  return without_trailing_zeros(scientific(value, std::max(2, digits - 2)));
}

double largest_magnitude(std::span<const double> values) {
  // Four at a time, so that none waits for the one before it: large matrices are shown at once.
  constexpr double most = std::numeric_limits<double>::max();
  const auto finite = [](double x) { return std::abs(x) <= most ? std::abs(x) : 0.0; };
  std::array<double, 4> largest = {};
  std::size_t i = 0;
  for (; i + 4 <= values.size(); i += 4) {
    for (std::size_t k = 0; k < 4; ++k) largest[k] = std::max(largest[k], finite(values[i + k]));
  }
  for (; i < values.size(); ++i) largest[0] = std::max(largest[0], finite(values[i]));
  return *std::max_element(largest.begin(), largest.end());
}

NumberStyle style_for(std::span<const double> values, int digits) {
  int needed = 1;
  bool whole = true;
  for (const double value : values) {
    if (!whole && needed >= digits) break;  // the others can't change that any more
    if (!std::isfinite(value)) continue;
    whole = whole && value == std::trunc(value);
    while (needed < digits && !ends_within(value, needed)) ++needed;
  }
  const double largest = largest_magnitude(values);
  if (whole && largest < longest_whole) return {NumberStyle::Kind::whole, 0};
  if (largest >= longest_fixed || vanishes(largest, digits))
    return {NumberStyle::Kind::scientific, digits};
  return {NumberStyle::Kind::fixed, std::min(needed, digits)};
}

std::string cell_text(double value, const NumberStyle& style) {
  if (value == 0) return "0";
  if (style.kind == NumberStyle::Kind::scientific) return scientific(value, style.digits);
  return number(value, style.kind == NumberStyle::Kind::whole ? 0 : style.digits);
}

}  // namespace qkv
