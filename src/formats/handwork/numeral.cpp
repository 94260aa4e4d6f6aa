#include "formats/format.hpp"

#include <fast_float/fast_float.h>

#include "text/number.hpp"
#include "text/strings.hpp"
#include "text/unicode.hpp"

namespace qkv::inline formats {
namespace {

constexpr std::string_view root_sign = "\u221A";
constexpr NumeralResult no_number = {.fault = NumeralError::not_a_number};

bool take(std::string_view& text, std::string_view what) {
  if (!text.starts_with(what)) return false;
  text = trimmed(text.substr(what.size()));
  return true;
}

/// Where the first root is, "√" or "sqrt("; npos if there is none.
std::size_t root_in(std::string_view text) {
  return std::min(text.find(root_sign), text.find("sqrt("));
}

/// The factor before a root, without the sign of the product.
std::string_view without_sign(std::string_view times) {
  times = trimmed(times);
  for (const std::string_view sign : {"*", "\u00b7"}) {
    if (times.ends_with(sign)) return trimmed(times.substr(0, times.size() - sign.size()));
  }
  return times;
}

/// A number without a sign, 0.5 or 1e-3; nothing if it is none.
std::optional<double> plain(std::string_view text, DecimalMark mark) {
  const bool has_digit_first =
      !text.empty() && (text[0] == '.' || text[0] == ',' || is_digit(text[0]));
  const NumeralResult result = parse_numeral(text, mark);
  if (!has_digit_first || result.fault != NumeralError::none) return {};
  return result.numeral.value;
}

/// The value of a numerator or denominator: 3, √2, 2√3, √(2), sqrt(2).
std::optional<double> part_value(std::string_view text, DecimalMark mark) {
  text = trimmed(text);
  const std::size_t root = root_in(text);
  if (root == text.npos) return plain(text, mark);
  const bool is_typeset = text.substr(root).starts_with(root_sign);
  const std::size_t length = is_typeset ? root_sign.size() : std::string_view("sqrt").size();
  const std::string_view times = without_sign(text.substr(0, root));
  std::string_view inside = trimmed(text.substr(root + length));
  if (inside.starts_with('(') && inside.ends_with(')')) {
    inside = trimmed(inside.substr(1, inside.size() - 2));
  }
  const auto factor = times.empty() ? std::optional(1.0) : plain(times, mark);
  const auto square = plain(inside, mark);
  if (!factor || !square) return {};
  return *factor * std::sqrt(*square);
}

// The decimals of a quotient whose divisor was rounded, such as 2/1.414: as precise as that. 0 if
// the divisor has fewer than two decimals, as 1.5 has.
std::int16_t decimals_of_quotient(double value, std::string_view divisor, DecimalMark mark) {
  const NumeralResult below = parse_numeral(divisor, mark);
  const int decimals = below.fault == NumeralError::none ? below.numeral.decimals : 0;
  if (decimals < 2 || value == 0) return 0;
  constexpr double most = 400;  // of a ratio beyond doubles
  const double ratio = std::log10(std::abs(value / below.numeral.value));
  return static_cast<std::int16_t>(decimals - static_cast<int>(std::clamp(ratio, 0.0, most)));
}

NumeralResult percentage(std::string_view text, DecimalMark mark) {
  NumeralResult result = parse_numeral(trimmed(text), mark);
  if (result.fault != NumeralError::none) return result;
  if (!std::isfinite(result.numeral.value)) return no_number;
  result.numeral.value /= 100;
  result.numeral.decimals += 2;
  result.numeral.exact = true;
  return result;
}

NumeralResult fraction_or_root(std::string_view text, DecimalMark mark) {
  const bool minus = take(text, "-") || take(text, typeset_minus);
  if (!minus) take(text, "+");
  const std::size_t line = text.find('/');
  const auto above = part_value(text.substr(0, line), mark);
  if (!above) return no_number;
  double value = *above;
  std::int16_t decimals = 0;
  if (line != std::string_view::npos) {
    std::string_view below = trimmed(text.substr(line + 1));
    const bool negative = take(below, "-") || take(below, typeset_minus);
    // "1/2·√3" is half of √3, "1/2√3" and "1/(2·√3)" are 1 divided by the product.
    const bool is_bracketed = below.starts_with('(') && below.ends_with(')');
    if (is_bracketed) below = below.substr(1, below.size() - 2);
    const std::size_t root = is_bracketed ? below.npos : root_in(below);
    const std::string_view before = below.substr(0, root);
    const bool is_apart = root != below.npos && without_sign(before) != before;
    const auto factor = is_apart ? part_value(below.substr(root), mark) : std::optional(1.0);
    if (is_apart) below = without_sign(before);
    const auto divisor = part_value(below, mark);
    if (!divisor || *divisor == 0 || !factor) return no_number;
    value = (negative ? -value : value) / *divisor * *factor;
    decimals = decimals_of_quotient(value, below, mark);
  } else if (root_in(text) == text.npos) {
    return no_number;
  }
  if (!std::isfinite(value)) return no_number;
  return {.numeral = {.value = minus ? -value : value,
                      .decimals = decimals,
                      .scientific = decimals > 0,
                      .exact = true}};
}

using Fraction = std::pair<CodePoint, std::string_view>;
constexpr Fraction fractions[] = {
    {0xbd, "1/2"},   {0xbc, "1/4"},   {0xbe, "3/4"},   {0x2153, "1/3"}, {0x2154, "2/3"},
    {0x215b, "1/8"}, {0x215c, "3/8"}, {0x215d, "5/8"}, {0x215e, "7/8"}, {0x2044, "/"}};

// Replaces typographic characters of pages, word processors and telephones: dashes for a minus,
// special blanks, and ½, but not behind a digit.
std::string in_plain_characters(std::string_view text) {
  std::string plain;
  bool blank = false;
  each_code_point(text, [&](CodePoint code, std::string_view bytes) {
    const bool is_dash = code >= 0x2010 && code <= 0x2013;
    const char group = code == bad_byte ? 'S' : category_group(code);
    if (group == 'Z' || group == 'C') {
      blank = blank || !plain.empty();
    } else {
      if (blank) plain += ' ';
      blank = false;
      const auto* fraction = find_by(fractions, code, &Fraction::first);
      const bool is_fraction =
          fraction && (code == 0x2044 || plain.empty() || plain == "-" || plain == typeset_minus);
      plain += is_dash ? "-" : is_fraction ? fraction->second : bytes;
    }
  });
  return plain;
}

NumeralResult read_in_any_way(std::string_view text, DecimalMark mark) {
  const NumeralResult plain = parse_numeral(text, mark);
  if (plain.fault != NumeralError::not_a_number || text.empty()) return plain;
  if (text.ends_with('%')) return percentage(text.substr(0, text.size() - 1), mark);
  return fraction_or_root(text, mark);
}

bool is_fraction_or_root(const Numeral& cell) {
  return cell.exact && (cell.decimals == 0 || cell.scientific);
}

constexpr std::string_view infinity_sign = "\u221e";
constexpr int max_exponent = 1'000'000;  // far beyond doubles, far within int

/// Removes a sign from the front of `text`; true if it was a minus.
bool take_sign(std::string_view& text) {
  if (text.starts_with('-') || text.starts_with('+')) {
    const bool minus = text.front() == '-';
    text.remove_prefix(1);
    return minus;
  }
  if (!text.starts_with(typeset_minus)) return false;
  text.remove_prefix(typeset_minus.size());
  return true;
}

/// The value of a word such as inf or nan.
std::optional<double> word_value(std::string_view text) {
  if (text.empty() || is_digit(text.front())) return std::nullopt;
  const std::string word = ascii_lowercase(std::string(text));
  if (word == "inf" || word == "infinity" || word == infinity_sign) return infinity;
  if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
  return std::nullopt;
}

/// The exponent after "e", as far as it matters to the decimals.
long exponent_in(std::string_view text) {
  const bool minus = take_sign(text);
  const long exponent = parse_number<int>(text).value_or(max_exponent);
  return minus ? -exponent : exponent;
}

constexpr std::size_t min_rounded_digits = 16;  // as many as 2^53 has

/// The shortest digits that identify an integer's double, without trailing zeros.
std::string short_digits(double value) {
  std::string digits = fmt::to_string(value);
  digits.resize(std::min(digits.find('e'), digits.size()));
  std::erase(digits, '.');
  return digits.substr(0, digits.find_last_not_of('0') + 1);
}

/// True if a double holds the integer in `digits`, whose nearest double is `value`. It equals
/// `value`, or has its first digits and then zeros, as programs abbreviate a double.
bool is_representable(std::string_view digits, double value) {
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  if (digits.size() < min_rounded_digits || fmt::format("{:.0f}", value) == digits) return true;
  const std::string shortest = short_digits(value);
  return digits.starts_with(shortest) &&
         digits.find_first_not_of('0', shortest.size()) == std::string_view::npos;
}

bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return first < 0x20 || first == 0x7f;
  // U+0080 to U+009F are control characters of terminals.
  return first == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0;
}

// True for "1,572,864": several commas can only separate thousands. One can, as `mark` says.
bool has_grouped_digits(std::string_view text, DecimalMark mark) {
  if (!take(text, "-")) take(text, typeset_minus);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_between = (text.size() - i) % 4 == 0;
    if (is_between ? text[i] != ',' : !is_digit(text[i])) return false;
  }
  const std::string_view shortest = mark == DecimalMark::thousands ? "1,572" : "1,572,864";
  return text.size() >= shortest.size() && text.size() % 4 != 0 && text.front() != '0';
}

}  // namespace

bool stands_for_blank(std::string_view text) {
  constexpr std::string_view placeholders[] = {"?", "-", "–", "—", "−"};
  return contains(placeholders, text);
}

NumeralResult parse_cell(std::string_view text, DecimalMark mark) {
  const NumeralResult result = read_in_any_way(text, mark);
  if (result.fault != NumeralError::not_a_number) return result;
  const std::string plain = in_plain_characters(text);
  if (has_grouped_digits(plain, mark))
    return read_in_any_way(replace_all(plain, ",", ""), DecimalMark::point);
  return plain == text ? result : read_in_any_way(plain, mark);
}

DecimalMark decimal_mark_of(std::string_view cell) {
  return cell.find(',') == std::string_view::npos ? DecimalMark::point : DecimalMark::comma;
}

void resolve_precision(std::span<Numeral> cells) {
  if (std::ranges::none_of(cells, is_fraction_or_root)) return;
  std::int16_t most = 0;
  for (const Numeral& cell : cells) {
    if (!cell.scientific && std::isfinite(cell.value)) most = std::max(most, cell.decimals);
  }
  constexpr int digits = 6;
  for (Numeral& cell : cells) {
    if (!is_fraction_or_root(cell)) continue;
    const int before_point = leading_place(cell.value) + 1;
    if (most > 0) {
      cell.decimals = most;
    } else if (!cell.scientific) {
      cell.decimals = static_cast<std::int16_t>(digits - before_point);
    }
    cell.scientific = most == 0;
  }
}

Numeral keep_bad_cell(ParsedArray& written, std::string_view text) {
  constexpr std::size_t most = 1000;
  if (written.bad_texts.size() < most) written.bad_texts.push_back(printable(text));
  return {.value = std::numeric_limits<double>::quiet_NaN(),
          .bad_text = static_cast<std::uint16_t>(written.bad_texts.size())};
}

NumeralResult parse_numeral(std::string_view token, DecimalMark mark) {
  if (mark == DecimalMark::comma) {
    std::string plain(token);
    std::ranges::replace(plain, '.', ' ');  // not a number, then
    std::ranges::replace(plain, ',', '.');
    return parse_numeral(plain);
  }
  std::string_view text = token;
  const bool minus = take_sign(text);
  if (const auto value = word_value(text)) {
    return {.numeral = {.value = minus ? -*value : *value, .computed = std::isnan(*value)}};
  }
  const bool begins = !text.empty() && (is_digit(text[0]) || text[0] == '.');  // no second sign
  double value = 0;  // infinity or 0 for what is outside of a double's range
  const char* const end = text.data() + text.size();
  const auto [stop, error] = fast_float::from_chars(text.data(), end, value);
  if (!begins || error == std::errc::invalid_argument || stop != end) {
    const std::string hyphenated = replace_all(token, typeset_minus, "-");  // of an exponent
    return hyphenated == token ? no_number : parse_numeral(hyphenated);
  }
  if (std::isinf(value)) return {.fault = NumeralError::too_large};
  const char* const digits_end =
      std::find_if(text.data(), end, [](char c) { return (c | 0x20) == 'e'; });
  const char* const point = std::find(text.data(), digits_end, '.');
  const bool scientific = digits_end != end;
  const bool is_whole = !scientific && point == digits_end;
  if (is_whole && !is_representable(text, value)) return {.fault = NumeralError::rounded};
  constexpr long most = std::numeric_limits<std::int16_t>::max();
  const long fraction = point == digits_end ? 0 : digits_end - point - 1;
  const long exponent = scientific ? exponent_in({digits_end + 1, end}) : 0;
  const long decimals = std::clamp(std::min(fraction, most) - exponent, -most, most);
  return {.numeral = {.value = minus ? -value : value,
                      .decimals = static_cast<std::int16_t>(decimals),
                      .scientific = scientific}};
}

std::string refusal(NumeralError fault, std::string_view token) {
  const std::string shown = "\"" + printable(token) + "\"";
  if (fault == NumeralError::too_large) {
    return shown + " is too large: a number goes up to 1.79e308; for infinity write inf";
  }
  if (fault == NumeralError::rounded) {
    return shown +
           " is a whole number that no double holds: if it may be rounded, write it with a point";
  }
  return shown + " is not a number: write it like 0.25 or 2.5e-3";
}

void refuse_surplus(const std::string& where, std::size_t most) {
  refuse(where,
         "it has more than {} numbers, {} times as many as the lesson can use of it: keep the "
         "step's own numbers",
         most, surplus_factor);
}

std::string printable(std::string_view text, std::size_t longest) {
  std::string shown;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const std::string_view character = text.substr(0, std::max<std::size_t>(length, 1));
    if (shown.size() + character.size() > longest) return shown + "…";
    shown += length == 0 || is_control(character) ? "?" : character;
    text.remove_prefix(character.size());
  }
  return shown;
}

}  // namespace qkv::inline formats
