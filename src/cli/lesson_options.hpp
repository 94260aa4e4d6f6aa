#pragma once

#include <optional>
#include <string>

#include "lesson/library.hpp"

namespace qkv::inline cli {

class OptionList;

/// Which lesson a command works on, and what is changed in it.
struct LessonSelection {
  std::string name;
  LessonChanges changes;
  std::string model;  ///< the model that is walked in place of a lesson; then `name` is the same
  ModelSettings settings;
};

/// LESSON, --text, --set and what goes with a model, as a person would type them.
std::string shell_words(const LessonSelection& lesson);

/// The lesson, or the model, changed and worked out, as far as the wanted steps need it. Throws
/// InputError as library.hpp says.
LoadedLesson load(const LessonSelection& choice, const RequestedSteps& wanted = {});

enum class LessonArgument { required, defaults_to_first };

/// Declares LESSON, --text, --set and --model with what goes with it.
void add_lesson_options(OptionList& app, LessonSelection& choice, LessonArgument argument);

/// Declares --model and what goes with it alone.
void add_model_options(OptionList& app, LessonSelection& choice);

/// Declares --head, the one that is to be shown.
void add_head_option(OptionList& app, std::optional<std::size_t>& head);

/// The head of that number, from 1, as an index. Throws InputError where no step has it.
std::optional<std::size_t> head_from(std::optional<std::size_t> number, const Trace& trace);

/// Declares --digits, the decimals that people see.
void add_digits_option(OptionList& app, int& digits);

}  // namespace qkv::inline cli
