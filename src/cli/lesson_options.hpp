#pragma once

#include <optional>
#include <string>

#include "lesson/library.hpp"

namespace CLI {
class App;
}

namespace qkv::inline cli {

/// The selected lesson or model, and its changes.
struct LessonSelection {
  std::string name;
  LessonChanges changes;
  std::string model;  ///< a model file instead of a lesson; `name` is the same then
  ModelSettings settings;
};

/// Returns LESSON, --text, --set and model options as command-line words.
std::string shell_words(const LessonSelection& lesson);

/// Loads and evaluates the lesson or model with its changes, as far as `wanted` needs. Throws
/// InputError as documented in library.hpp.
LoadedLesson load(const LessonSelection& choice, const RequestedSteps& wanted = {});

enum class LessonArgument { required, defaults_to_first };

/// Declares LESSON, --text, --set, --model and model options.
void add_lesson_options(CLI::App& app, LessonSelection& choice, LessonArgument argument);

/// Declares --model and model options only.
void add_model_options(CLI::App& app, LessonSelection& choice);

/// Declares --head: the head to show.
void add_head_option(CLI::App& app, std::optional<std::size_t>& head);

/// Returns the index of a head's number, from 1. Throws InputError if no step has it.
std::optional<std::size_t> head_from(std::optional<std::size_t> number, const Trace& trace);

/// Declares --digits: displayed decimals.
void add_digits_option(CLI::App& app, int& digits);

}  // namespace qkv::inline cli
