#include "text/unicode.hpp"

#include <algorithm>

namespace qkv::inline text {

std::size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  if (static_cast<unsigned char>(text[0]) < 0x80) return 1;  // the common case
  const auto [code, bytes] = decode_code_point(text, 0);
  return code == bad_byte ? 0 : bytes;
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
  for (std::size_t at = 0; at < text.size();) {
    const auto [code, bytes] = decode_code_point(text, at);
    if (code == bad_byte) {
      result += text[at];
    } else {
      append_code(result, utf8proc_tolower(code));
    }
    at += bytes;
  }
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

bool is_skin_tone(CodePoint code) { return code >= 0x1F3FB && code <= 0x1F3FF; }

bool is_regional_indicator(CodePoint code) {
  return utf8proc_get_property(code)->boundclass == UTF8PROC_BOUNDCLASS_REGIONAL_INDICATOR;
}

bool is_keycap_base(CodePoint code) {
  return (code >= '0' && code <= '9') || code == '#' || code == '*';
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

bool never_starts_a_line(CodePoint code) {
  const auto category = utf8proc_category(code);
  return category == UTF8PROC_CATEGORY_PE || category == UTF8PROC_CATEGORY_PF ||
         category == UTF8PROC_CATEGORY_PO || category == UTF8PROC_CATEGORY_LM;
}

bool never_ends_a_line(CodePoint code) {
  const auto category = utf8proc_category(code);
  return category == UTF8PROC_CATEGORY_PS || category == UTF8PROC_CATEGORY_PI;
}

bool is_printable_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return is_printable_ascii(c); });
}

}  // namespace qkv::inline text
