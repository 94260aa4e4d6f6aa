#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/unicode.hpp"

namespace qkv::inline tokens {

/// Splits a text into words (letters, digits, apostrophes) and single other visible characters.
/// Example: "the cat's mat." → the, cat's, mat, .
std::vector<std::string> words_of(std::string_view text);

/// Splits a text into grapheme clusters: an accent stays with its letter, an emoji in one piece.
std::vector<std::string> characters_of(std::string_view text);

/// Splits a text as GPT-2's pattern does: contractions, letters, digits and other marks, each with
/// the blank before it, and runs of blanks. Joined, they are the text. Letters and digits are \p{L}
/// and \p{N}, blanks Unicode's White_Space. Throws InputError if the text is not UTF-8. Example:
/// "it's  3 cats" → it, 's, ␣, ␣3, ␣cats.
std::vector<std::string_view> gpt2_words(std::string_view text);

/// True for Unicode's White_Space, as \\s in patterns.
bool is_blank(CodePoint code);

/// Return the number of bytes of the blanks at the start and at the end of the text.
std::size_t blanks_before(std::string_view text);
std::size_t blanks_after(std::string_view text);

}  // namespace qkv::inline tokens
