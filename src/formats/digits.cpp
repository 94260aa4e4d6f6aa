#include "formats/digits.hpp"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace qkv {
namespace {

char* put(char* out, std::string_view text) { return std::copy(text.begin(), text.end(), out); }

/// The eight digits of a number below 10^8, the first in the lowest byte: halves, quarters and
/// eighths of them are split side by side, with a multiplication and a shift in place of division.
std::uint64_t eight_digits(std::uint32_t number) {
  const std::uint64_t fours = number / 10000 | std::uint64_t{number % 10000} << 32U;
  const std::uint64_t hundreds = (fours * 10486 >> 20U) & 0x0000007f'0000007fU;
  const std::uint64_t twos = hundreds | (fours - 100 * hundreds) << 16U;
  const std::uint64_t tens = (twos * 103 >> 10U) & 0x000f000f'000f000fU;
  return tens | (twos - 10 * tens) << 8U;
}

/// The digits of a positive number of at most 17, as text.
class Digits {
 public:
  explicit Digits(std::uint64_t number) {
    constexpr std::uint64_t eight = 100'000'000;
    constexpr std::uint64_t zeros = 0x3030303030303030U;
    const std::uint64_t first = number / (eight * eight);
    const std::uint64_t high = eight_digits(static_cast<std::uint32_t>(number / eight % eight));
    const std::uint64_t low = eight_digits(static_cast<std::uint32_t>(number % eight));
    text_[0] = static_cast<char>('0' + first);
    static_assert(std::endian::native == std::endian::little, "the first digit is the first byte");
    const std::array<std::uint64_t, 2> others = {high | zeros, low | zeros};
    std::memcpy(&text_[1], others.data(), sizeof others);
    begin_ = first > 0  ? 0
             : high > 0 ? 1 + std::countr_zero(high) / 8
                        : 9 + std::countr_zero(low) / 8;
  }

  int size() const { return most - begin_; }

  /// Those from `from` on, and what happens to stand behind them.
  void copy(char* out, int from) const { std::memcpy(out, text_.data() + begin_ + from, most + 1); }

 private:
  static constexpr int most = 17;
  std::array<char, 2 * most + 2> text_ = {};
  int begin_ = 0;
};

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
  constexpr int most_zeros = 15;
  const double magnitude = std::abs(value);
  if (!(magnitude >= smallest_usual && magnitude < largest_usual)) {
    return fmt::format_to(out, FMT_COMPILE("{}"), value);
  }
  const auto decimal = fmt::detail::dragonbox::to_decimal(magnitude);
  const Digits digits(decimal.significand);
  const int before_point = digits.size() + decimal.exponent;
  if (value < 0) *out++ = '-';
  if (decimal.exponent >= 0) {
    digits.copy(out, 0);
    std::memset(out + digits.size(), '0', most_zeros);
    return out + before_point;
  }
  if (before_point <= 0) {
    std::memset(out, '0', 8);
    out[1] = '.';
    out += 2 - before_point;
    digits.copy(out, 0);
    return out + digits.size();
  }
  digits.copy(out, 0);
  out[before_point] = '.';
  digits.copy(out + before_point + 1, before_point);
  return out + digits.size() + 1;
}

char* put_fixed(char* out, double value, int digits) {
  if (std::isnan(value)) return put(out, "nan");
  if (std::isinf(value)) return put(out, value < 0 ? "-inf" : "inf");
  return without_minus_zero(out, fmt::format_to(out, FMT_COMPILE("{:.{}f}"), value, digits));
}

}  // namespace qkv
