#pragma once

#include <string>

namespace qkv {

/// A word as a shell reads it: in quotes where it would be taken apart. Example: `it's` is
/// `'it'\''s'`.
std::string shell_word(const std::string& word);

}  // namespace qkv
