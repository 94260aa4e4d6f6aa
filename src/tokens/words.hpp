#pragma once

#include "text/unicode.hpp"

namespace qkv::inline tokens {

/// Splits a text into words (letters, digits, apostrophes) and single other visible characters.
/// Example: "the cat's mat." → the, cat's, mat, .
std::vector<std::string> words_of(std::string_view text);

/// Splits a text into grapheme clusters: an accent stays with its letter, an emoji in one piece.
std::vector<std::string> characters_of(std::string_view text);

/// Decodes the character at `at`. Throws InputError if the text is not UTF-8.
DecodedCodePoint text_character(std::string_view text, std::size_t at);

/// Return the number of bytes of the blanks (Unicode's White_Space) at the start and at the end of
/// the text.
std::size_t blanks_before(std::string_view text);
std::size_t blanks_after(std::string_view text);

}  // namespace qkv::inline tokens
