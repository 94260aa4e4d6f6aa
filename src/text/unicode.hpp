#pragma once

#include <utf8proc.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace qkv {

using Code = utf8proc_int32_t;

constexpr Code bad_byte = -1;  ///< stands for a byte that is no UTF-8
constexpr Code joiner = 0x200D;
constexpr Code emoji_selector = 0xFE0F;
constexpr Code keycap = 0x20E3;

struct Decoded {
  Code code;
  std::size_t bytes;
};

/// The code point that starts at `at`; a byte that starts none is a `bad_byte` by itself.
Decoded decoded(std::string_view text, std::size_t at);

/// Appends a code point as UTF-8.
void append_code(std::string& out, Code code);

/// The first letter of its general category: L a letter, N a number, M a mark, Z a blank, C what is
/// not seen, P punctuation, S a symbol.
inline char category_group(Code code) { return *utf8proc_category_string(code); }

inline bool is_mark(Code code) { return category_group(code) == 'M'; }

bool is_pictograph(Code code);

bool is_skin_tone(Code code);

bool is_regional_indicator(Code code);

bool is_keycap_base(Code code);

/// Nothing to see, or nothing that we know how wide it is: controls, format characters, line and
/// paragraph separators, unassigned code points, and letters that are drawn as nothing.
bool is_unseen(Code code);

/// Written without blanks, so that a line may end after any character. Korean is as wide but has
/// blanks between its words.
bool is_ideograph(Code code);

/// A closing bracket, full stop or length mark (」。ー) never starts a line.
bool never_starts_a_line(Code code);

/// An opening bracket (「) never ends one.
bool never_ends_a_line(Code code);

constexpr bool is_printable_ascii(char c) { return c >= ' ' && c <= '~'; }
bool is_printable_ascii(std::string_view text);

}  // namespace qkv
