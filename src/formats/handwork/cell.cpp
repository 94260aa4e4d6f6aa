#include "formats/handwork/cell.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "text/error.hpp"
#include "text/strings.hpp"
#include "text/unicode.hpp"

namespace qkv {
namespace {

constexpr std::string_view root_sign = "\u221A";
constexpr std::string_view minus_sign = "\u2212";
constexpr NumeralResult no_number = {.fault = NumeralFault::not_a_number};

bool take(std::string_view& text, std::string_view what) {
  if (!text.starts_with(what)) return false;
  text = trimmed(text.substr(what.size()));
  return true;
}

/// A number without a sign, 0.5 or 1e-3; nothing where there is none.
std::optional<double> plain(std::string_view text, DecimalMark mark) {
  const bool has_digit_first =
      !text.empty() && (text[0] == '.' || text[0] == ',' || (text[0] >= '0' && text[0] <= '9'));
  const NumeralResult result = parse_numeral(text, mark);
  if (!has_digit_first || result.fault != NumeralFault::none) return {};
  return result.numeral.value;
}

/// What may stand above or below the line of a fraction: 3, √2, 2√3, √(2), sqrt(2).
std::optional<double> part_value(std::string_view text, DecimalMark mark) {
  text = trimmed(text);
  std::size_t root = text.find(root_sign);
  std::size_t length = root_sign.size();
  if (root == std::string_view::npos) {
    root = text.find("sqrt(");
    length = std::string_view("sqrt").size();
  }
  if (root == std::string_view::npos) return plain(text, mark);
  std::string_view times = trimmed(text.substr(0, root));
  while (times.ends_with('*')) times = trimmed(times.substr(0, times.size() - 1));
  if (times.ends_with("·")) times = trimmed(times.substr(0, times.size() - 2));
  std::string_view inside = trimmed(text.substr(root + length));
  if (inside.starts_with('(') && inside.ends_with(')')) {
    inside = trimmed(inside.substr(1, inside.size() - 2));
  }
  const auto factor = times.empty() ? std::optional(1.0) : plain(times, mark);
  const auto square = plain(inside, mark);
  if (!factor || !square) return {};
  return *factor * std::sqrt(*square);
}

NumeralResult exactly(double value) {
  if (!std::isfinite(value)) return no_number;
  return {.numeral = {.value = value, .exact = true}};
}

NumeralResult percentage(std::string_view text, DecimalMark mark) {
  NumeralResult result = parse_numeral(trimmed(text), mark);
  if (result.fault != NumeralFault::none) return result;
  if (!std::isfinite(result.numeral.value)) return no_number;
  result.numeral.value /= 100;
  result.numeral.decimals += 2;
  result.numeral.exact = true;
  return result;
}

NumeralResult fraction_or_root(std::string_view text, DecimalMark mark) {
  const bool minus = take(text, "-") || take(text, minus_sign);
  if (!minus) take(text, "+");
  const std::size_t line = text.find('/');
  const auto above = part_value(text.substr(0, line), mark);
  if (!above) return no_number;
  double value = *above;
  if (line != std::string_view::npos) {
    std::string_view below = trimmed(text.substr(line + 1));
    const bool negative = take(below, "-") || take(below, minus_sign);
    const auto divisor = part_value(below, mark);
    if (!divisor || *divisor == 0) return no_number;
    value = (negative ? -value : value) / *divisor;
  } else if (text.find(root_sign) == std::string_view::npos &&
             text.find("sqrt(") == std::string_view::npos) {
    return no_number;
  }
  return exactly(minus ? -value : value);
}

// As pages and word processors write it: dashes for a minus, blanks that no key makes around it.
std::string in_plain_characters(std::string_view text) {
  std::string plain;
  bool blank = false;
  for (std::size_t at = 0; at < text.size();) {
    const auto [code, bytes] = decoded(text, at);
    const bool is_dash = code >= 0x2010 && code <= 0x2013;
    const char group = code == bad_byte ? 'S' : category_group(code);
    if (group == 'Z' || group == 'C') {
      blank = blank || !plain.empty();
    } else {
      if (blank) plain += ' ';
      blank = false;
      plain += is_dash ? "-" : text.substr(at, bytes);
    }
    at += bytes;
  }
  return plain;
}

NumeralResult read_in_any_way(std::string_view text, DecimalMark mark) {
  const NumeralResult plain = parse_numeral(text, mark);
  if (plain.fault != NumeralFault::not_a_number || text.empty()) return plain;
  if (text.ends_with('%')) return percentage(text.substr(0, text.size() - 1), mark);
  return fraction_or_root(text, mark);
}

bool is_without_decimals(const Numeral& cell) {
  return cell.exact && cell.decimals == 0 && !cell.scientific;
}

}  // namespace

NumeralResult parse_cell(std::string_view text, DecimalMark mark) {
  const NumeralResult result = read_in_any_way(text, mark);
  const bool is_ascii = std::ranges::all_of(text, [](char c) { return (c & 0x80) == 0; });
  if (result.fault != NumeralFault::not_a_number || is_ascii) return result;
  const std::string plain = in_plain_characters(text);
  return plain == text ? result : read_in_any_way(plain, mark);
}

DecimalMark mark_of(std::string_view cell) {
  return cell.find(',') == std::string_view::npos ? DecimalMark::point : DecimalMark::comma;
}

void settle_exact(std::span<Numeral> cells) {
  if (std::ranges::none_of(cells, is_without_decimals)) return;
  std::int16_t most = 0;
  for (const Numeral& cell : cells) {
    if (!cell.scientific && std::isfinite(cell.value)) most = std::max(most, cell.decimals);
  }
  constexpr int digits = 6;
  for (Numeral& cell : cells) {
    if (!is_without_decimals(cell)) continue;
    cell.scientific = most == 0;
    const int before_point =
        cell.value == 0 ? 1 : static_cast<int>(std::floor(std::log10(std::abs(cell.value)))) + 1;
    cell.decimals = most > 0 ? most : static_cast<std::int16_t>(digits - before_point);
  }
}

Numeral keep_unread(Written& written, std::string_view text) {
  constexpr std::size_t most = 1000;
  if (written.unread.size() < most) written.unread.push_back(printable(text));
  return {.value = std::numeric_limits<double>::quiet_NaN(),
          .unread = static_cast<std::uint16_t>(written.unread.size())};
}

}  // namespace qkv
