#include "text/escape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "text/json.hpp"
#include "text/number.hpp"
#include "text/unicode.hpp"

namespace qkv::inline text {
namespace {

/// More marks than any writing system stacks on one letter; others would cover other lines.
constexpr std::size_t most_marks = 8;

std::string stand_in(CodePoint code) {
  if (code == bad_byte) return "\uFFFD";
  if (code >= 0x20 && code != 0x7F) return fmt::format("<U+{:04X}>", code);
  std::string picture;  // Unicode has one for each, in the same order
  append_code(picture, code == 0x7F ? 0x2421 : 0x2400 + code);
  return picture;
}

/// Sanitises text code point by code point, and remembers what the next one may attach to.
class Visible {
 public:
  void append(CodePoint code, CodePoint next) {
    if (code != bad_byte && belongs_to_emoji(code, next)) {
      append_code(out_, code);
    } else if (code == bad_byte || is_invisible(code)) {
      append_stand_in(code);
    } else if (is_mark(code)) {
      append_mark(code);
    } else {
      append_base(code);
    }
    previous_ = code;
  }

  // Equivalent to append() for each character of printable ASCII, but fast: most text is only that.
  void append_plain(std::string_view text) {
    out_ += text;
    has_base_ = text.back() != ' ';
    in_emoji_ = false;
    marks_ = 0;
    previous_ = static_cast<unsigned char>(text.back());
  }

  void append_verbatim(std::string_view text) {
    out_ += text;
    has_base_ = in_emoji_ = false;
    previous_ = bad_byte;
  }

  std::string text() && { return std::move(out_); }

 private:
  /// True for a joiner between pictographs (👩‍👧) and for the selector of the coloured form
  /// (❤️, 1️⃣).
  bool belongs_to_emoji(CodePoint code, CodePoint next) const {
    if (code == joiner) return in_emoji_ && next != bad_byte && is_pictograph(next);
    if (code != emoji_selector || previous_ == bad_byte) return false;
    return (in_emoji_ && is_pictograph(previous_)) || (is_keycap_base(previous_) && next == keycap);
  }

  void append_stand_in(CodePoint code) {
    out_ += stand_in(code);
    has_base_ = in_emoji_ = false;
  }

  void append_mark(CodePoint code) {
    if (!has_base_ || marks_ == most_marks) append_base(0x25CC);
    append_code(out_, code);
    ++marks_;
  }

  void append_base(CodePoint code) {
    append_code(out_, code);
    has_base_ = utf8proc_category(code) != UTF8PROC_CATEGORY_ZS;
    marks_ = 0;
    in_emoji_ = is_pictograph(code) || (in_emoji_ && is_skin_tone(code));
  }

  std::string out_;
  CodePoint previous_ = bad_byte;
  bool has_base_ = false;
  bool in_emoji_ = false;
  std::size_t marks_ = 0;
};

enum class Layout { none, kept };

std::size_t plain_beginning(std::string_view text) {
  const auto end =
      std::find_if_not(text.begin(), text.end(), [](char c) { return is_printable_ascii(c); });
  return static_cast<std::size_t>(end - text.begin());
}

std::string made_visible(std::string_view text, Layout layout) {
  if (is_printable_ascii(text)) return std::string(text);
  Visible visible_text;
  for (std::size_t at = 0; at < text.size();) {
    if (const std::size_t plain = plain_beginning(text.substr(at)); plain > 0) {
      visible_text.append_plain(text.substr(at, plain));
      at += plain;
      continue;
    }
    const auto [code, bytes] = decode_code_point(text, at);
    at += bytes;
    const CodePoint next = at < text.size() ? decode_code_point(text, at).code : bad_byte;
    if (layout == Layout::kept && code == '\n') {
      visible_text.append_verbatim("\n");
    } else if (layout == Layout::kept && code == '\t') {
      visible_text.append_verbatim("    ");
    } else if (layout == Layout::kept && code == '\r' && next == '\n') {
      continue;  // a Windows line break
    } else {
      visible_text.append(code, next);
    }
  }
  return std::move(visible_text).text();
}

}  // namespace

std::string sanitise(std::string_view text) { return made_visible(text, Layout::none); }

std::string sanitise_json(std::string_view json) {
  std::string out;
  for (std::size_t at = 0; at < json.size();) {
    const auto [code, bytes] = decode_code_point(json, at);
    if (code == bad_byte || code < 0x7F || !is_invisible(code)) {
      out += code == bad_byte ? std::string_view("\uFFFD") : json.substr(at, bytes);
    } else if (code < 0x10000) {
      out += fmt::format("\\u{:04X}", code);
    } else {  // JSON writes larger code points as a surrogate pair
      out += fmt::format("\\u{:04X}\\u{:04X}", 0xD800 + ((code - 0x10000) >> 10),
                         0xDC00 + ((code - 0x10000) & 0x3FF));
    }
    at += bytes;
  }
  return out;
}

std::string sanitise_prose(std::string_view text) { return made_visible(text, Layout::kept); }

std::string sanitise_label(std::string_view text) {
  const std::size_t left = std::min(text.find_first_not_of(' '), text.size());
  const std::size_t right = text.size() - std::max(left, text.find_last_not_of(' ') + 1);
  std::string out;
  for (std::size_t i = 0; i < left; ++i) out += "␣";
  out += sanitise(text.substr(left, text.size() - left - right));
  for (std::size_t i = 0; i < right; ++i) out += "␣";
  return out;
}

void append_json_number(std::string& text, double value, std::optional<int> digits) {
  constexpr int most_digits = 17;
  std::array<char, max_fixed_length(most_digits)> room;
  char* const end = digits ? write_fixed(room.data(), value, std::min(*digits, most_digits))
                           : write_shortest(room.data(), value);
  const bool is_word = !std::isfinite(value);
  if (is_word) text += '"';
  text.append(room.data(), end);
  if (is_word) text += '"';
}

nlohmann::ordered_json json_number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

std::string json_document(const nlohmann::ordered_json& json) {
  using Json = nlohmann::ordered_json;
  return sanitise_json(json.dump(2, ' ', false, Json::error_handler_t::replace)) + "\n";
}

}  // namespace qkv::inline text
