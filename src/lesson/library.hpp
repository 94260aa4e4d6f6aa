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

/// A lesson file that is part of the program.
struct BuiltInLesson {
  std::string_view name;  ///< "the-fat-cat"
  std::string_view toml;
};

/// The files that the course's lessons name.
std::span<const BuiltInFile> built_in_files();

/// The course, in its order.
std::span<const BuiltInLesson> built_in_lessons();

/// What a person changes of a lesson before it is worked out.
struct LessonChanges {
  std::optional<std::string> text;  ///< another sentence
  std::vector<std::string> set;     ///< "W_Q[1,2]=0.5", each (* is all along an axis), or an option
  std::vector<std::string> patch = {};  ///< "h0.context=other.npy", each: a whole matrix
  std::optional<std::vector<std::size_t>> ids = {};  ///< in place of a model's text

  bool change_numbers() const { return !set.empty() || !patch.empty(); }
};

/// A lesson and all of its matrices.
struct LoadedLesson {
  Lesson lesson;
  Trace trace;
  std::shared_ptr<const LoadedLesson> own = {};  ///< what it was, where it is changed
};

/// Reads a built-in lesson by its name, or a lesson file by its path, faults and all. Throws
/// InputError where there is no such lesson (with the nearest name) or the file can't be read.
ParsedLesson find_lesson(const std::string& name_or_path);

/// The same, changed and worked out; a changed one has only those of its words that are still true.
/// Where steps or givens are `wanted`, a large step that neither they nor their words need is left
/// out. Throws InputError with all faults, one a line.
LoadedLesson load_lesson(const std::string& name_or_path, const LessonChanges& changes = {},
                         const RequestedSteps& wanted = {});

/// The same with `new_tokens` tokens that the lesson's model writes behind the text first. Throws
/// InputError where it has no model.
LoadedLesson continue_lesson(const std::string& name_or_path, const LessonChanges& changes,
                             std::size_t new_tokens);

/// A trained model and the text, or the ids, of `changes` as a lesson, worked out. Throws
/// InputError where there is neither, and as model.hpp says.
LoadedLesson load_model(const std::string& path, const LessonChanges& changes,
                        const ModelSettings& settings, const RequestedSteps& wanted = {});

/// The lesson with one more value set ("W_Q[1,2]=0.5") and worked out again, in the same way.
/// Throws InputError where there is no such cell or the steps can't be worked out from it.
LoadedLesson with_cell_set(const std::shared_ptr<const LoadedLesson>& loaded,
                           const std::string& change);

}  // namespace qkv::inline lesson
