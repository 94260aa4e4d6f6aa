#include "text/unicode.hpp"

#include <nlohmann/json.hpp>

#include "text/json.hpp"
#include "text/number.hpp"
#include "text/strings.hpp"

namespace qkv::inline text {
namespace {

constexpr CodePoint joiner = 0x200D;
constexpr CodePoint keycap = 0x20E3;

bool is_skin_tone(CodePoint code) { return code >= 0x1F3FB && code <= 0x1F3FF; }

bool is_keycap_base(CodePoint code) {
  return (code >= '0' && code <= '9') || code == '#' || code == '*';
}

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
      out_ += stand_in(code);
      has_base_ = in_emoji_ = false;
    } else if (category_group(code) == 'M') {
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

std::string made_visible(std::string_view text, Layout layout) {
  if (is_printable_ascii(text)) return std::string(text);
  Visible visible_text;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    while (at < text.size() && is_printable_ascii(text[at])) ++at;
    if (at > begin) {
      visible_text.append_plain(text.substr(begin, at - begin));
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

std::size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  if (static_cast<unsigned char>(text[0]) < 0x80) return 1;  // the common case
  const auto [code, bytes] = decode_code_point(text, 0);
  return code == bad_byte ? 0 : bytes;
}

std::size_t first_bad_byte(std::string_view text) {
  for (std::size_t at = 0, length = 0; at < text.size(); at += length) {
    length = utf8_length(text.substr(at));
    if (length == 0) return at;
  }
  return text.npos;
}

std::string elide_middle(std::string_view line) {
  constexpr std::size_t longest = 1200;
  if (line.size() <= longest) return std::string(line);
  std::size_t head = longest / 2;
  std::size_t tail = line.size() - longest / 2;
  while (head > 0 && is_continuation_byte(line[head])) --head;
  while (tail < line.size() && is_continuation_byte(line[tail])) ++tail;
  return std::string(line.substr(0, head)).append("…").append(line.substr(tail));
}

std::string ascii_lowercase(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) { return ascii_lowercase(c); });
  return text;
}

std::string lowercase(std::string_view text) {
  std::string result;
  each_code_point(text, [&](CodePoint code, std::string_view bytes) {
    if (code == bad_byte) {
      result += bytes;
    } else {
      append_code(result, utf8proc_tolower(code));
    }
  });
  return result;
}

DecodedCodePoint decode_code_point(std::string_view text, std::size_t at) {
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + at;
  CodePoint code = bad_byte;
  const auto size = utf8proc_iterate(bytes, static_cast<utf8proc_ssize_t>(text.size() - at), &code);
  if (size <= 0) return {bad_byte, 1};
  return {code, static_cast<std::size_t>(size)};
}

void append_code(std::string& out, CodePoint code) {
  utf8proc_uint8_t bytes[4];
  const auto size = utf8proc_encode_char(code, bytes);
  out.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
}

bool is_pictograph(CodePoint code) {
  return utf8proc_get_property(code)->boundclass == UTF8PROC_BOUNDCLASS_EXTENDED_PICTOGRAPHIC;
}

bool is_invisible(CodePoint code) {
  switch (utf8proc_category(code)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP: return true;
    default: return utf8proc_get_property(code)->ignorable;
  }
}

bool is_ideograph(CodePoint code) {
  if (code < 0x1100) return false;
  const auto category = utf8proc_category(code);
  const bool korean = (code >= 0x1100 && code <= 0x11FF) || (code >= 0x3130 && code <= 0x318F) ||
                      (code >= 0xA960 && code <= 0xA97F) || (code >= 0xAC00 && code <= 0xD7FF);
  return utf8proc_charwidth(code) == 2 && !is_pictograph(code) && !is_skin_tone(code) && !korean &&
         category != UTF8PROC_CATEGORY_ZS;
}

bool is_printable_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return is_printable_ascii(c); });
}

std::string composed(std::string_view text) {
  utf8proc_uint8_t* made = nullptr;
  const auto size =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                   static_cast<utf8proc_ssize_t>(text.size()), &made,
                   static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  if (size < 0) return std::string(text);
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(made, &std::free);
  return {reinterpret_cast<const char*>(made), static_cast<std::size_t>(size)};
}

std::string sanitise(std::string_view text) { return made_visible(text, Layout::none); }

std::string sanitise_json(std::string_view json) {
  std::string out;
  each_code_point(json, [&](CodePoint code, std::string_view bytes) {
    if (code == bad_byte || code < 0x7F || !is_invisible(code)) {
      out += code == bad_byte ? std::string_view("\uFFFD") : bytes;
    } else if (code < 0x10000) {
      out += fmt::format("\\u{:04X}", code);
    } else {  // JSON writes larger code points as a surrogate pair
      out += fmt::format("\\u{:04X}\\u{:04X}", 0xD800 + ((code - 0x10000) >> 10),
                         0xDC00 + ((code - 0x10000) & 0x3FF));
    }
  });
  return out;
}

std::string sanitise_prose(std::string_view text) { return made_visible(text, Layout::kept); }

std::string sanitise_label(std::string_view text) {
  const std::size_t left = std::min(text.find_first_not_of(' '), text.size());
  const std::size_t right = std::max(left, text.find_last_not_of(' ') + 1);
  return replace_all(text.substr(0, left), " ", "␣") + sanitise(text.substr(left, right - left)) +
         replace_all(text.substr(right), " ", "␣");
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
