#pragma once

#include <string>
#include <string_view>

namespace qkv::inline text {

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

}  // namespace qkv::inline text
