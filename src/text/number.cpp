#include "text/number.hpp"

#include <fmt/compile.h>

#include "text/unicode.hpp"

namespace qkv::inline text {
namespace {

char* put(char* out, std::string_view text) { return std::copy(text.begin(), text.end(), out); }

/// Drops the minus of a number that shows only zeros.
char* without_minus_zero(char* start, char* end) {
  const bool zero = std::all_of(start + 1, end, [](char c) { return c == '0' || c == '.'; });
  if (*start != '-' || !zero) return end;
  return std::copy(start + 1, end, start);
}

constexpr double largest_fixed = 1e7;
constexpr double longest_plain = 1e5;               // integers from here on have grouped digits
constexpr double longest_whole = 9007199254740992;  // 2^53: a double holds every integer up to it

std::string scientific(double value, int digits) {
  if (std::isnan(value)) return "nan";  // whatever its sign
  return fmt::format("{:.{}e}", value, std::max(digits, 0));
}

bool is_exact_whole(double value) {
  return value == std::trunc(value) && std::abs(value) <= longest_whole;
}

/// -57982058496 → "-57,982,058,496".
std::string grouped(double whole) {
  return (whole < 0 ? "-" : "") + group_digits(static_cast<std::uint64_t>(std::abs(whole)));
}

/// People round a final 5 away from zero: 0.03125 to 0.0313. If the shortest decimals end in a 5
/// just behind the last digit shown, the double is moved past the tie: it may lie slightly below,
/// or the tie may go to the even digit.
double past_the_tie(double value, int digits) {
  std::array<char, max_shortest_length> room;
  const std::string_view shortest(room.data(), write_shortest(room.data(), value));
  const std::size_t point = shortest.find('.');
  const bool ties = point != shortest.npos && shortest.find('e') == shortest.npos &&
                    shortest.ends_with('5') &&
                    shortest.size() == point + 2 + static_cast<std::size_t>(digits);
  return ties ? std::nextafter(value, value * 2) : value;
}

/// 10^decimals, from a table: it is needed for each number of a matrix, and std::pow is slow.
double power_of_ten(int decimals) {
  constexpr std::array powers = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10};
  const auto place = static_cast<std::size_t>(decimals);
  return place < powers.size() ? powers[place] : std::pow(10.0, decimals);
}

/// Returns the decimals by whole-number arithmetic, ten times as fast; empty for a large number,
/// and near a tie, which decides how it is rounded.
std::string quick_number(double value, int digits) {
  constexpr double largest = 1e9, near = 1e-6;
  const double scaled = std::abs(value) * power_of_ten(digits);
  const double below = std::floor(scaled);
  if (!(scaled < largest) || std::abs(scaled - below - 0.5) < near) return {};
  const auto whole = static_cast<std::uint64_t>(scaled - below < 0.5 ? below : below + 1);
  std::string text = std::to_string(whole);
  const auto places = static_cast<std::size_t>(digits);
  if (text.size() <= places) text.insert(0, places + 1 - text.size(), '0');
  if (digits > 0) text.insert(text.size() - places, 1, '.');
  if (value < 0 && whole > 0) text.insert(0, 1, '-');
  return text;
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

/// True if fixed decimals would show only zeros.
bool vanishes(double magnitude, int digits) {
  return magnitude > 0 && magnitude < std::pow(10.0, -std::max(digits, 0));
}

/// True if the number ends within so many decimals, apart from the last bits of a sum. The slack is
/// 0 if so many decimals are asked for that these bits show.
bool ends_within(double value, int decimals, int asked) {
  constexpr int most_without_last_bits = 13;
  const double power = power_of_ten(decimals);
  const double slack = asked > most_without_last_bits ? 0 : 1e-13 * std::max(1.0, std::abs(value));
  return decimals <= most_without_last_bits &&
         std::abs(value - std::round(value * power) / power) <= slack;
}

}  // namespace

char* write_shortest(char* out, double value) {
  if (std::isnan(value)) return put(out, "nan");
  if (value == 0) return put(out, std::signbit(value) ? "-0.0" : "0");
  return fmt::format_to(out, FMT_COMPILE("{}"), value);
}

char* write_fixed(char* out, double value, int digits) {
  if (std::isnan(value)) return put(out, "nan");
  if (std::isinf(value)) return put(out, value < 0 ? "-inf" : "inf");
  return without_minus_zero(out, fmt::format_to(out, FMT_COMPILE("{:.{}f}"), value, digits));
}

int leading_place(double value) {
  if (value == 0 || !std::isfinite(value)) return 0;
  return static_cast<int>(std::floor(std::log10(std::abs(value))));
}

std::string group_digits(std::uint64_t count) {
  std::string digits = std::to_string(count);
  for (std::size_t i = digits.size(); i > 3;) digits.insert(i -= 3, 1, ',');
  return digits;
}

std::string number(double value, int digits) {
  digits = std::max(digits, 0);
  if (std::string quick = quick_number(value, digits); !quick.empty()) return quick;
  fmt::memory_buffer room;
  room.resize(max_fixed_length(digits));
  return {room.data(), write_fixed(room.data(), past_the_tie(value, digits), digits)};
}

std::string brief(double value, int digits) {
  const double magnitude = std::abs(value);
  if (magnitude >= longest_plain && is_exact_whole(value)) return grouped(value);
  if (magnitude < largest_fixed && !vanishes(magnitude, digits))
    return without_trailing_zeros(number(value, digits));
  return without_trailing_zeros(scientific(value, std::max(2, digits - 2)));
}

NumberStyle style_for(std::span<const double> values, int digits) {
  double largest = 0;
  for (const double value : values) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  return style_for(values, digits, largest);
}

NumberStyle style_for(std::span<const double> values, int digits, double largest) {
  int needed = 1;
  bool whole = true;
  for (const double value : values) {
    if (!whole && needed >= digits) break;  // the others can't change that
    if (!std::isfinite(value)) continue;
    whole = whole && is_exact_whole(value);
    while (needed < digits && !ends_within(value, needed, digits)) ++needed;
  }
  if (whole) {
    return {largest < longest_plain ? NumberStyle::Kind::whole : NumberStyle::Kind::grouped, 0};
  }
  if (largest >= largest_fixed || vanishes(largest, digits))
    return {NumberStyle::Kind::scientific, digits};
  return {NumberStyle::Kind::fixed, std::min(needed, digits)};
}

std::string cell_text(double value, const NumberStyle& style) {
  if (value == 0) return "0";
  if (style.kind == NumberStyle::Kind::grouped && std::isfinite(value)) return grouped(value);
  if (style.kind == NumberStyle::Kind::scientific) return scientific(value, style.digits);
  return number(value, style.kind == NumberStyle::Kind::whole ? 0 : style.digits);
}

std::string exponent_legend(std::string_view text) {
  constexpr int longest_zeros = 12;
  for (std::size_t at = text.find("e-"); at != text.npos; at = text.find("e-", at + 1)) {
    std::size_t begin = at;
    while (begin > 0 && (is_digit(text[begin - 1]) || text[begin - 1] == '.')) --begin;
    std::size_t end = at + 2;
    while (end < text.size() && is_digit(text[end])) ++end;
    // "the-fat" is not a number, and no double has an exponent of more than three digits.
    if (begin == at || end < at + 4 || end > at + 5) continue;
    const int places = std::stoi(std::string(text.substr(at + 2, end - at - 2)));
    if (places == 0) continue;
    std::string digits(text.substr(begin, at - begin));
    const std::string_view whole = text.substr(begin, end - begin);
    if (places > longest_zeros) return fmt::format("({} means {} / 10^{}.)", whole, digits, places);
    std::erase(digits, '.');
    return fmt::format("({} means 0.{}{}.)", whole,
                       std::string(static_cast<std::size_t>(places - 1), '0'), digits);
  }
  return {};
}

}  // namespace qkv::inline text
