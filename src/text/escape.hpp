#pragma once

#include <string>
#include <string_view>

namespace qkv::inline text {

/// A label or name made safe for a terminal: nothing in the result moves the cursor, turns the
/// reading direction or hides. Control characters become their pictures (␛, ␊), a byte that is no
/// UTF-8 becomes `�`, a combining mark with nothing to stand on gets a `◌`, and whatever else has
/// no shape of its own is named: `<U+202E>`. Applying it twice changes nothing. Example:
/// `sanitise("a\x1b[2Jb")` is `a␛[2Jb`.
std::string sanitise(std::string_view text);

/// The same for a token: blanks at either end show as `␣`, because " cat" and "cat" are two tokens.
std::string sanitise_label(std::string_view text);

/// The same for prose, which keeps its line breaks; a tab becomes four blanks.
std::string sanitise_prose(std::string_view text);

/// JSON made safe for a terminal without changing what it says: whatever has no shape of its own
/// becomes a \u escape, which reads back as the same text. Example: `"\u202E"` for U+202E.
std::string sanitise_json(std::string_view json);

}  // namespace qkv::inline text
