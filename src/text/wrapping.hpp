#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace qkv::inline text {

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
std::string with_plain_blanks(std::string line);

/// Returns the columns that sanitised text takes on a terminal, by grapheme cluster. "é" is 1
/// however it is encoded; "猫", "👩‍👩‍👧", "🇩🇪" and "❤️" are 2.
std::size_t width(std::string_view text);

/// Pads sanitised text with blanks to `columns`. Text that is wider is unchanged.
std::string padded_left(std::string_view text, std::size_t columns);   ///< blanks on its left
std::string padded_right(std::string_view text, std::size_t columns);  ///< blanks on its right

/// Truncates sanitised text to `columns` at a cluster boundary; `…` replaces the rest.
std::string shortened(std::string_view text, std::size_t columns);

}  // namespace qkv::inline text
