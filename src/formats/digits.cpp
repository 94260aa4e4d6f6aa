#include "formats/digits.hpp"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace qkv {
namespace {

char* put(char* out, std::string_view text) { return std::copy(text.begin(), text.end(), out); }

char* put_zeros(char* out, int count) { return std::fill_n(out, count, '0'); }

/// A minus before nothing but zeros says less than it seems to: it goes.
char* without_minus_zero(char* start, char* end) {
  const bool zero = std::all_of(start + 1, end, [](char c) { return c == '0' || c == '.'; });
  if (*start != '-' || !zero) return end;
  return std::copy(start + 1, end, start);
}

}  // namespace

// This is what most of an export's time goes into, so the usual sizes take a shorter way to the
// text that fmt's "{}" writes.
char* put_shortest(char* out, double value) {
  if (std::isnan(value)) return put(out, "nan");
  if (value == 0) return put(out, std::signbit(value) ? "-0.0" : "0");
  constexpr double smallest_usual = 1e-4;
  constexpr double largest_usual = 1e15;
  const double magnitude = std::abs(value);
  if (!(magnitude >= smallest_usual && magnitude < largest_usual)) {
    return fmt::format_to(out, FMT_COMPILE("{}"), value);
  }
  const auto decimal = fmt::detail::dragonbox::to_decimal(magnitude);
  const fmt::format_int digits(decimal.significand);
  const int size = static_cast<int>(digits.size());
  const int before_point = size + decimal.exponent;
  if (value < 0) *out++ = '-';
  if (decimal.exponent >= 0) {
    return put_zeros(std::copy_n(digits.data(), size, out), decimal.exponent);
  }
  if (before_point <= 0) {
    out = put_zeros(put(out, "0."), -before_point);
    return std::copy_n(digits.data(), size, out);
  }
  out = std::copy_n(digits.data(), before_point, out);
  *out++ = '.';
  return std::copy_n(digits.data() + before_point, size - before_point, out);
}

char* put_fixed(char* out, double value, int digits) {
  if (std::isnan(value)) return put(out, "nan");
  if (std::isinf(value)) return put(out, value < 0 ? "-inf" : "inf");
  return without_minus_zero(out, fmt::format_to(out, FMT_COMPILE("{:.{}f}"), value, digits));
}

}  // namespace qkv
