#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace qkv::inline text {

/// A stretch of prose that stands by itself.
struct Passage {
  enum class Kind { paragraph, item, code };
  Kind kind = Kind::paragraph;
  std::vector<std::string> lines = {};  ///< as written, without an item's "- " and code's margin
  bool apart = false;                   ///< whether a blank line stands before it

  /// The lines on one, a blank between two of them.
  std::string on_one_line() const;
  /// The lines as they are, a line break between two of them.
  std::string as_written() const;
};

/// Prose taken apart and made safe to show: a blank line ends a passage, "- " begins an item of a
/// list, a line that starts with four blanks is code.
std::vector<Passage> passages_of(std::string_view prose);

/// The passages with words before them: `Notice: ` and a paragraph make one paragraph.
std::vector<Passage> with_lead(std::string_view lead, std::vector<Passage> passages);

/// Prose broken into safe lines of at most `columns`, passage by passage. Blank lines stay, as one
/// empty line; otherwise a line break is a blank. Chinese and Japanese break between any two
/// characters; a word longer than a line is cut. Code stays as it is, however long.
std::vector<std::string> wrapped(std::string_view prose, std::size_t columns);
std::vector<std::string> wrapped(const std::vector<Passage>& passages, std::size_t columns);

/// A blank at which no line may end: a no-break space, until the lines are laid out.
inline constexpr std::string_view no_break_space = "\u00a0";
/// A line that is laid out, with plain blanks for those.
std::string with_plain_blanks(std::string line);

/// How many columns a terminal gives to visible text, counted by grapheme cluster: "é" is 1 however
/// it is encoded, "猫" is 2, and so are "👩‍👩‍👧", "🇩🇪" and "❤️".
std::size_t width(std::string_view text);

/// Visible text filled with blanks to `columns`, the text on the left, on the right or in the
/// middle; text that is wider already stays as it is.
std::string padded_left(std::string_view text, std::size_t columns);    ///< blanks on its left
std::string padded_right(std::string_view text, std::size_t columns);   ///< blanks on its right
std::string padded_centre(std::string_view text, std::size_t columns);  ///< blanks on both sides

/// Visible text cut between two grapheme clusters to at most `columns`, its end replaced by `…`.
std::string shortened(std::string_view text, std::size_t columns);

}  // namespace qkv::inline text
