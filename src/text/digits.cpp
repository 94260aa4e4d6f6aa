#include "text/digits.hpp"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace qkv {
namespace {

char* put(char* out, std::string_view text) { return std::copy(text.begin(), text.end(), out); }

/// A minus before nothing but zeros says less than it seems to: it goes.
char* without_minus_zero(char* start, char* end) {
  const bool zero = std::all_of(start + 1, end, [](char c) { return c == '0' || c == '.'; });
  if (*start != '-' || !zero) return end;
  return std::copy(start + 1, end, start);
}

}  // namespace

char* put_shortest(char* out, double value) {
  if (std::isnan(value)) return put(out, "nan");
  if (value == 0) return put(out, std::signbit(value) ? "-0.0" : "0");
  return fmt::format_to(out, FMT_COMPILE("{}"), value);
}

char* put_fixed(char* out, double value, int digits) {
  if (std::isnan(value)) return put(out, "nan");
  if (std::isinf(value)) return put(out, value < 0 ? "-inf" : "inf");
  return without_minus_zero(out, fmt::format_to(out, FMT_COMPILE("{:.{}f}"), value, digits));
}

}  // namespace qkv
