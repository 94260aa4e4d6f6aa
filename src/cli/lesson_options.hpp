#pragma once

#include <string>

#include "lesson/library.hpp"

namespace qkv {

class OptionList;

/// Which lesson a command works on, and what is changed in it.
struct LessonChoice {
  std::string name;
  LessonChanges changes;
};

enum class LessonArgument { required, first_lesson_otherwise };

/// Declares LESSON, --text and --set.
void add_lesson_options(OptionList& app, LessonChoice& choice, LessonArgument argument);

/// Declares --digits, the decimals that people see.
void add_digits_option(OptionList& app, int& digits);

}  // namespace qkv
