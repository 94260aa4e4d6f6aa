#pragma once

#include <utf8proc.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace qkv::inline text {

using CodePoint = utf8proc_int32_t;

constexpr CodePoint bad_byte = -1;  ///< stands for a byte that is no UTF-8
constexpr CodePoint joiner = 0x200D;
constexpr CodePoint emoji_selector = 0xFE0F;
constexpr CodePoint keycap = 0x20E3;

struct DecodedCodePoint {
  CodePoint code;
  std::size_t bytes;
};

/// The code point that starts at `at`; a byte that starts none is a `bad_byte` by itself.
DecodedCodePoint decode_code_point(std::string_view text, std::size_t at);

/// Appends a code point as UTF-8.
void append_code(std::string& out, CodePoint code);

/// The first letter of its general category: L a letter, N a number, M a mark, Z a blank, C what is
/// not seen, P punctuation, S a symbol.
inline char category_group(CodePoint code) { return *utf8proc_category_string(code); }

inline bool is_mark(CodePoint code) { return category_group(code) == 'M'; }

bool is_pictograph(CodePoint code);

bool is_skin_tone(CodePoint code);

bool is_regional_indicator(CodePoint code);

bool is_keycap_base(CodePoint code);

/// Nothing to see, or nothing that we know how wide it is: controls, format characters, line and
/// paragraph separators, unassigned code points, and letters that are drawn as nothing.
bool is_invisible(CodePoint code);

/// Written without blanks, so that a line may end after any character. Korean is as wide but has
/// blanks between its words.
bool is_ideograph(CodePoint code);

/// A closing bracket, full stop or length mark (」。ー) never starts a line.
bool never_starts_a_line(CodePoint code);

/// An opening bracket (「) never ends one.
bool never_ends_a_line(CodePoint code);

constexpr bool is_printable_ascii(char c) { return c >= ' ' && c <= '~'; }
bool is_printable_ascii(std::string_view text);

/// Whether a byte of UTF-8 goes on with a character, and begins none.
constexpr bool is_continuation_byte(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

/// How many bytes the UTF-8 character at the start of `text` has; 0 where there is none.
std::size_t utf8_length(std::string_view text);

/// How many characters UTF-8 has.
constexpr std::size_t code_point_count(std::string_view text) {
  std::size_t characters = 0;
  for (const char c : text) characters += is_continuation_byte(c) ? 0 : 1;
  return characters;
}

/// Where the last character of a text begins; 0 where it has none.
constexpr std::size_t last_character(std::string_view text) {
  std::size_t at = text.size();
  while (at > 0 && is_continuation_byte(text[--at])) {
  }
  return at;
}

/// A message quotes what it speaks of, which may have megabytes: of so long a line the two ends,
/// which say what and why, with `…` between them.
std::string elide_middle(std::string_view line);

/// What a reader takes for one character: a letter with its marks, a flag, a family.
struct Grapheme {
  std::string_view text;
  CodePoint first;
  std::size_t width;  ///< columns of a terminal
};

/// The cluster that starts at `at`, as far as the next place where Unicode lets text be divided.
Grapheme grapheme_at(std::string_view text, std::size_t at);

/// The longest beginning of text that fits into `columns`.
std::string_view fitting_prefix(std::string_view text, std::size_t columns);

/// The letter in lower case where it is one of ASCII's; anything else stays as it is.
constexpr char ascii_lowercase(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

/// The same for every byte of a text: for words of file formats and their extensions.
std::string ascii_lowercase(std::string text);

/// The text in lower case, letter by letter, in every alphabet that has it. What is no UTF-8 stays
/// as it is.
std::string lowercase(std::string_view text);

}  // namespace qkv::inline text
