#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lesson/lesson.hpp"
#include "lesson/model/model_lesson.hpp"
#include "trace/evaluate.hpp"

namespace qkv::inline lesson {

/// A lesson file compiled into the program.
struct BuiltInLesson {
  std::string_view name;  ///< "the-fat-cat"
  std::string_view toml;
};

/// Returns the files that the course's lessons name.
std::span<const BuiltInFile> built_in_files();

/// Returns the course's lessons in order.
std::span<const BuiltInLesson> built_in_lessons();

/// A user's changes to a lesson, applied before it is evaluated.
struct LessonChanges {
  std::optional<std::string> text;  ///< another sentence
  std::vector<std::string> set;  ///< "W_Q[1,2]=0.5", each (* means all along an axis), or an option
  std::vector<std::string> patch = {};  ///< "h0.context=other.npy", each: a whole matrix
  std::optional<std::vector<std::size_t>> ids = {};  ///< instead of a model's text

  bool change_numbers() const { return !set.empty() || !patch.empty(); }
};

/// A lesson and its evaluated matrices.
struct LoadedLesson {
  Lesson lesson;
  Trace trace;
  std::shared_ptr<const LoadedLesson> own = {};  ///< the original, if it is changed
};

/// Reads a built-in lesson by name, or a lesson file by path, with its faults. Throws InputError if
/// there is no such lesson (suggesting the nearest name) or the file can't be read.
ParsedLesson find_lesson(const std::string& name_or_path);

/// Reads, changes and evaluates a lesson. A changed lesson keeps only prose that still holds. If
/// steps or givens are `wanted`, large steps are skipped that neither they nor their prose need.
/// Throws InputError with all faults, one per line.
LoadedLesson load_lesson(const std::string& name_or_path, const LessonChanges& changes = {},
                         const RequestedSteps& wanted = {});

/// Loads a lesson after its model has generated `new_tokens` tokens behind the text. Throws
/// InputError if the lesson has no model.
LoadedLesson continue_lesson(const std::string& name_or_path, const LessonChanges& changes,
                             std::size_t new_tokens);

/// Loads a trained model with the text or ids of `changes` as a lesson, and evaluates it. Throws
/// InputError if both are missing, and as model.hpp says.
LoadedLesson load_model(const std::string& path, const LessonChanges& changes,
                        const ModelSettings& settings, const RequestedSteps& wanted = {});

/// Returns the lesson with one more cell set ("W_Q[1,2]=0.5"), evaluated as before. Throws
/// InputError if there is no such cell, or steps can't be computed from it.
LoadedLesson with_cell_set(const std::shared_ptr<const LoadedLesson>& loaded,
                           const std::string& change);

}  // namespace qkv::inline lesson
