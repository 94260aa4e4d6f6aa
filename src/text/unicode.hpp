#pragma once

#include "text/prelude.hpp"

#include <utf8proc.h>

namespace qkv::inline text {

using CodePoint = utf8proc_int32_t;

constexpr CodePoint bad_byte = -1;  ///< a byte that is not UTF-8
constexpr CodePoint emoji_selector = 0xFE0F;

struct DecodedCodePoint {
  CodePoint code;
  std::size_t bytes;
};

/// Decodes the code point that starts at `at`. A byte that starts none is a `bad_byte` by itself.
DecodedCodePoint decode_code_point(std::string_view text, std::size_t at);

/// Calls `visit` with each code point and its bytes.
template <class Visit>
void each_code_point(std::string_view text, const Visit& visit) {
  for (std::size_t at = 0; at < text.size();) {
    const auto [code, bytes] = decode_code_point(text, at);
    visit(code, text.substr(at, bytes));
    at += bytes;
  }
}

/// Appends a code point as UTF-8.
void append_code(std::string& out, CodePoint code);

/// Returns the first letter of the general category: L letter, N number, M mark, Z separator, C
/// control or unassigned, P punctuation, S symbol.
inline char category_group(CodePoint code) { return *utf8proc_category_string(code); }

bool is_pictograph(CodePoint code);

/// True for code points with no visible shape or unknown width: controls, format characters, line
/// and paragraph separators, unassigned and default-ignorable code points.
bool is_invisible(CodePoint code);

/// True for characters of scripts without blanks, so that a line may end after any of them. Korean
/// is as wide but has blanks between its words.
bool is_ideograph(CodePoint code);

constexpr bool is_printable_ascii(char c) { return c >= ' ' && c <= '~'; }
bool is_printable_ascii(std::string_view text);

/// True for a byte of UTF-8 that continues a character.
constexpr bool is_continuation_byte(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

/// Returns the length in bytes of the first UTF-8 character; 0 if there is none.
std::size_t utf8_length(std::string_view text);

/// Returns the position of the first byte that is not UTF-8; npos if there is none.
std::size_t first_bad_byte(std::string_view text);

constexpr std::size_t code_point_count(std::string_view text) {
  std::size_t characters = 0;
  for (const char c : text) characters += is_continuation_byte(c) ? 0 : 1;
  return characters;
}

/// Returns the position of the last character; 0 if there is none.
constexpr std::size_t last_character(std::string_view text) {
  std::size_t at = text.size();
  while (at > 0 && is_continuation_byte(text[--at])) {
  }
  return at;
}

/// Shortens a very long line to its two ends with `…` between them. Messages quote input, which may
/// have megabytes.
std::string elide_middle(std::string_view line);

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Returns an ASCII letter in lower case; any other byte is unchanged.
constexpr char ascii_lowercase(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

/// The same for every byte: for words of file formats and extensions.
std::string ascii_lowercase(std::string text);

/// Returns the text in lower case, code point by code point, in every alphabet that has it. Bytes
/// that are not UTF-8 are unchanged.
std::string lowercase(std::string_view text);

/// Returns the text in Unicode's NFC: a letter and its accents become one character. Text that is
/// not UTF-8 is unchanged.
std::string composed(std::string_view text);

/// Returns a label or name that is safe on a terminal: it can't move the cursor, reverse the text
/// direction or hide. Control characters become their pictures (␛, ␊), bytes that are not UTF-8
/// become `�`. A combining mark without a base gets a `◌`; other invisible code points become
/// `<U+202E>`. Idempotent. Example: `sanitise("a\x1b[2Jb")` is `a␛[2Jb`.
std::string sanitise(std::string_view text);

/// The same for a token. Blanks at both ends become `␣`: " cat" and "cat" are two tokens.
std::string sanitise_label(std::string_view text);

/// The same for prose: line breaks stay, and a tab becomes four spaces.
std::string sanitise_prose(std::string_view text);

/// Returns JSON that is safe on a terminal and parses to the same text: an invisible code point
/// becomes a \u escape. Example: `"\u202E"` for U+202E.
std::string sanitise_json(std::string_view json);

/// A paragraph, list item or code block of prose.
struct Passage {
  enum class Kind { paragraph, item, code };
  Kind kind = Kind::paragraph;
  std::vector<std::string> lines = {};  ///< without an item's "- " and a code block's margin
  bool apart = false;                   ///< a blank line stands before it

  /// Joins the lines with blanks.
  std::string on_one_line() const;
  /// Joins the lines with line breaks.
  std::string as_written() const;
};

/// Splits prose into sanitised passages. A blank line ends a passage, "- " begins a list item, a
/// line that starts with four blanks is code.
std::vector<Passage> passages_of(std::string_view prose);

/// Puts words before the first passage: `Notice: ` and a paragraph make one paragraph.
std::vector<Passage> with_lead(std::string_view lead, std::vector<Passage> passages);

/// Breaks prose into sanitised lines of at most `columns`. Blank lines stay as one empty line;
/// other line breaks become blanks. Chinese and Japanese break between characters; a word longer
/// than a line is broken. Code is unchanged, however long.
std::vector<std::string> wrapped(std::string_view prose, std::size_t columns);
std::vector<std::string> wrapped(const std::vector<Passage>& passages, std::size_t columns);

/// A no-break space, at which no line may end.
inline constexpr std::string_view no_break_space = "\u00a0";
/// Replaces the no-break spaces of a finished line by plain blanks.
std::string with_plain_blanks(std::string_view line);

/// Returns the columns that sanitised text takes on a terminal, by grapheme cluster. "é" is 1
/// however it is encoded; "猫", "👩‍👩‍👧", "🇩🇪" and "❤️" are 2.
std::size_t width(std::string_view text);

/// Pads sanitised text with blanks to `columns`. Text that is wider is unchanged.
std::string padded_left(std::string_view text, std::size_t columns);   ///< blanks on its left
std::string padded_right(std::string_view text, std::size_t columns);  ///< blanks on its right

/// Returns a line for each row of sanitised texts, in columns two blanks apart: those with an index
/// in `left` on their left, the others on their right.
std::string aligned_columns(const std::vector<std::vector<std::string>>& rows,
                            const std::set<std::size_t>& left);

/// Truncates sanitised text to `columns` at a cluster boundary; `…` replaces the rest.
std::string shortened(std::string_view text, std::size_t columns);

}  // namespace qkv::inline text
