#pragma once

#include "lesson/model/model_lesson.hpp"

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

/// Returns the lesson's recipe with its givens, which only the trace keeps.
Recipe recipe_of(const LoadedLesson& loaded);

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

/// Implements --text: sets the input text of the recipe. Throws InputError if it reads no text.
void set_text(Recipe& recipe, const std::string& text);

/// Whether steps can be set, or givens only.
enum class Settable { givens, givens_and_steps };

/// Implements --set for cells of a given or step ("W_Q[head 1,1,2]=0.5"; * is all along an axis). A
/// step that is set becomes a given, from which later steps are computed. `named` is the evaluated
/// lesson, whose givens have labels. Throws InputError with what to write.
void set_cell(Recipe& recipe, const std::string& change, const Trace& named,
              Settable settable = Settable::givens_and_steps);

/// Applies all changes, of cells or options: givens first, then steps in order, each computed from
/// earlier changes. `is_changed`: the recipe already differs from that of `named`.
void set_all(Recipe& recipe, const std::vector<std::string>& changes, const Trace& named,
             bool is_changed);

/// Returns the evaluated lesson with these changes.
Trace with_set(const Trace& trace, const std::vector<std::string>& changes);

/// Implements --patch: replaces a given or step by a matrix in a file ("h0.context=other.npy").
/// Throws InputError as above, and if the file has another shape.
void patch_matrix(Recipe& recipe, const std::string& change, const Trace& named);

/// Implements --set for a step's options ("h0.Q_rope.pairing=interleaved", "scaled_scores.by=d_k")
/// and operands ("h0.Q_rope.of=h0.Q", several separated by commas). * matches any part of a step's
/// name: "*.pairing=halves" applies to every step with that option. Returns false if `change` names
/// no option: it is a cell, or no step has that name. Throws InputError with what to write.
bool set_option(Recipe& recipe, std::string_view change);

/// Returns the given or step that a --set changes: "W_Q" in "W_Q[1,2]=0.5", "h0.Q_rope" in
/// "h0.Q_rope.pairing=halves"; with * if several.
std::string_view set_name(const Recipe& recipe, std::string_view change);

/// Removes prose that no longer holds. `own` is the lesson's original trace, `now` the one after
/// the user changed its text or a given. A step is stale if the numbers, labels or size of its
/// matrix, of an operand, or of a matrix in its prose's braces differ. It loses its title, and say
/// and notice except parts marked as still true (still_true). If nothing is left, the operation's
/// prose is used. A `general` step keeps its title; its questions stay. `changed` is always set.
Lesson without_stale_prose(Lesson lesson, const Trace& own, const Trace& now);

}  // namespace qkv::inline lesson
