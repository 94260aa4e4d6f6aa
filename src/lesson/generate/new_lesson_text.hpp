#pragma once

#include <string>

#include "lesson/generate/style.hpp"

namespace qkv {

/// A drawn recipe as a lesson file: with comments for the person who is going to change it, words
/// for every step, and questions at the end.
std::string lesson_text(const NewLesson& wishes, const NewStyle& style, const LessonSizes& sizes,
                        const Recipe& recipe);

}  // namespace qkv
