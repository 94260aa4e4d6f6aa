#pragma once

#include <string>

#include "cli/lesson_options.hpp"

namespace qkv {

/// A word as a shell reads it: in quotes where it would be taken apart. Example: `it's` is
/// `'it'\''s'`.
std::string shell_word(const std::string& word);

/// LESSON, --text, --set and what goes with a model, as somebody would type them.
std::string shell_words(const LessonChoice& lesson);

}  // namespace qkv
