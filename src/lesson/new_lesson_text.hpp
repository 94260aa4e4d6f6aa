#pragma once

#include <string>

#include "lesson/new_lesson.hpp"
#include "trace/recipe.hpp"

namespace qkv {

/// The sizes of a new lesson's matrices.
struct LessonSizes {
  std::size_t n, d_model, heads, d_k;
};

/// A drawn recipe as a lesson file: with comments for the person who is going to change it, words
/// for every step, and questions at the end.
std::string lesson_text(const NewLesson& wishes, const LessonSizes& sizes, const Recipe& recipe);

}  // namespace qkv
