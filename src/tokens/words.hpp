#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace qkv {

/// Runs of letters, digits and apostrophes; each other visible mark by itself.
/// Example: "the cat's mat." → the, cat's, mat, .
std::vector<std::string> words_of(std::string_view text);

/// The characters as people count them: an accent stays with its letter, an emoji in one piece.
std::vector<std::string> characters_of(std::string_view text);

}  // namespace qkv
