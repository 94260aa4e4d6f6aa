#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/unicode.hpp"

namespace qkv::inline tokens {

/// Runs of letters, digits and apostrophes; each other visible mark by itself.
/// Example: "the cat's mat." → the, cat's, mat, .
std::vector<std::string> words_of(std::string_view text);

/// The characters as people count them: an accent stays with its letter, an emoji in one piece.
std::vector<std::string> characters_of(std::string_view text);

/// The words of GPT-2's pattern: contractions, letters, digits and other marks, each with the blank
/// before it, and runs of blanks. Together they are the text. Letters and digits are Unicode's
/// (\p{L} and \p{N}), blanks are its White_Space. Throws InputError where the text is not UTF-8.
/// Example: "it's  3 cats" → it, 's, ␣, ␣3, ␣cats.
std::vector<std::string_view> gpt2_words(std::string_view text);

/// Whether \\s of the patterns means the character: Unicode's White_Space.
bool is_blank(CodePoint code);

/// How many bytes at the start of the text, and at its end, are blanks.
std::size_t blanks_before(std::string_view text);
std::size_t blanks_after(std::string_view text);

}  // namespace qkv::inline tokens
