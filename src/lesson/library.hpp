#pragma once

#include "lesson/lesson.hpp"
#include "lesson/model/model_lesson.hpp"
#include "trace/evaluate.hpp"

namespace qkv::inline lesson {

/// A lesson file built into the program.
struct BuiltInLesson {
  std::string_view name;  ///< "the-fat-cat"
  std::string_view toml;
};

/// Returns the files that the course's lessons name.
std::span<const BuiltInFile> built_in_files();

/// Returns the lessons of the course, in order.
std::span<const BuiltInLesson> built_in_lessons();

/// A part of the course, from its first lesson to the next group's.
struct LessonGroup {
  std::string_view title;  ///< "Start here"
  std::string_view first;  ///< "the-fat-cat"
};

/// Returns the parts of the course, in order.
std::span<const LessonGroup> lesson_groups();

/// The user's changes to a lesson before it is evaluated.
struct LessonChanges {
  std::optional<std::string> text;  ///< another input text
  std::vector<std::string> set;     ///< cells "W_Q[1,2]=0.5" (* is all along an axis), or options
  std::vector<std::string> patch = {};               ///< whole matrices: "h0.context=other.npy"
  std::optional<std::vector<std::size_t>> ids = {};  ///< instead of a model's text

  bool change_numbers() const { return !set.empty() || !patch.empty(); }
};

/// A lesson and all its matrices.
struct LoadedLesson {
  Lesson lesson;
  Trace trace;
  std::shared_ptr<const LoadedLesson> own = {};  ///< the unchanged lesson, if this one is changed
};

/// Reads a built-in lesson by name, or a lesson file by path, with its faults. Throws InputError if
/// there is no such lesson (suggests a name) or the file cannot be read.
ParsedLesson find_lesson(const std::string& name_or_path);

/// Returns all faults in file order: of reading, evaluation, braces in prose and expectations.
/// Steps without prose of their own are reported as advice.
std::vector<Fault> lint(const ParsedLesson& reading);

/// Reads, changes and evaluates a lesson. A changed lesson keeps only the prose that still holds.
/// If steps or givens are `wanted`, large steps needed by neither them nor their prose are skipped.
/// Throws InputError with all faults, one per line.
LoadedLesson load_lesson(const std::string& name_or_path, const LessonChanges& changes = {},
                         const RequestedSteps& wanted = {});

/// Does the same after the lesson's model has appended `new_tokens` tokens to the text. Throws
/// InputError if it has no model.
LoadedLesson continue_lesson(const std::string& name_or_path, const LessonChanges& changes,
                             std::size_t new_tokens);

/// Evaluates a trained model as a lesson, on the text or the ids of `changes`. Throws InputError if
/// there is neither, and as model.hpp says.
LoadedLesson load_model(const std::string& path, const LessonChanges& changes,
                        const ModelSettings& settings, const RequestedSteps& wanted = {});

/// Returns the lesson evaluated again with one more value set ("W_Q[1,2]=0.5"). Throws InputError
/// if there is no such cell, or the steps cannot be evaluated with it.
LoadedLesson with_cell_set(const std::shared_ptr<const LoadedLesson>& loaded,
                           const std::string& change);

/// Allows every lesson to name any file, for the whole process: only the user may decide so.
void allow_outside_files();

}  // namespace qkv::inline lesson
