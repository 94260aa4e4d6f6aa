#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace qkv {

/// A label or name made safe for a terminal: nothing in the result moves the cursor, turns the
/// reading direction or hides. Control characters become their pictures (␛, ␊), a byte that is no
/// UTF-8 becomes `�`, a combining mark with nothing to stand on gets a `◌`, and whatever else has
/// no shape of its own is named: `<U+202E>`. Applying it twice changes nothing. Example:
/// `visible("a\x1b[2Jb")` is `a␛[2Jb`.
std::string visible(std::string_view text);

/// The same for a token: blanks at either end show as `␣`, because " cat" and "cat" are two tokens.
std::string visible_label(std::string_view text);

/// The same for prose, which keeps its line breaks; a tab becomes four blanks.
std::string visible_prose(std::string_view text);

/// JSON made safe for a terminal without changing what it says: whatever has no shape of its own
/// becomes a \u escape, which reads back as the same text. Example: `"\u202E"` for U+202E.
std::string visible_json(std::string_view json);

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

/// Prose broken into safe lines of at most `columns`. Blank lines separate paragraphs (and stay, as
/// one empty line), "- " begins a new line; otherwise a line break is a blank. Chinese and Japanese
/// break between any two characters; a word longer than a line is cut. A line that starts with four
/// blanks is code and stays as it is, however long.
std::vector<std::string> wrapped(std::string_view prose, std::size_t columns);

}  // namespace qkv
