#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lesson/lesson.hpp"
#include "trace/recipe.hpp"
#include "trace/trace.hpp"

namespace qkv::inline lesson {

/// What --text does: the recipe starts from another text. Throws InputError where it reads none.
void set_text(Recipe& recipe, const std::string& text);

/// Whether steps can be set as well as givens.
enum class Settable { givens, givens_and_steps };

/// What --set does: the cells of a given, or of a step, have another value ("W_Q[head 1,1,2]=0.5";
/// * is all along an axis). A step that is set is a given from there on: what comes after it is
/// worked from it. `named` is the lesson as it stands: there its givens have got their labels.
/// Throws InputError with what to write.
void set_cell(Recipe& recipe, const std::string& change, const Trace& named,
              Settable settable = Settable::givens_and_steps);

/// All of these, cells or options (set_option.hpp): givens first, then steps in their order, each
/// worked from what was changed before it. `is_changed`: the recipe is not `named`'s any more.
void set_all(Recipe& recipe, const std::vector<std::string>& changes, const Trace& named,
             bool is_changed);

/// What becomes of a lesson that is worked out if this is set.
Trace with_set(const Trace& trace, const std::vector<std::string>& changes);

/// What --patch does: all numbers of a given or a step come from a file ("h0.context=other.npy").
/// Throws InputError as above, and where the file has another shape.
void patch_matrix(Recipe& recipe, const std::string& change, const Trace& named);

/// What --set does to how a step is worked out: another option of its operation
/// ("h0.Q_rope.pairing=interleaved", "scaled_scores.by=d_k"), or other operands
/// ("h0.Q_rope.of=h0.Q", with commas between several). * stands for any part of the step's name:
/// "*.pairing=halves" is said to each step that has such an option. False where `change` speaks of
/// no option: a cell, or a name that no step has. Throws InputError with what to write.
bool set_option(Recipe& recipe, std::string_view change);

/// The given or step that a --set speaks of: "W_Q" in "W_Q[1,2]=0.5", "h0.Q_rope" in
/// "h0.Q_rope.pairing=halves"; * where it is several.
std::string_view set_name(const Recipe& recipe, std::string_view change);

/// The lesson without the words that were written for other numbers. `own` is what its file makes,
/// `now` what it makes since a person changed its text or a given. A step loses its title, and of
/// say and notice what is not marked to be true of others (still_true), where its matrix or one
/// that it is made of has other numbers, labels or another size, and where its prose has a live
/// number of such a matrix; where nothing is left, its operation's words stand there. A `general`
/// step keeps its title. What it asks at its end stays. `changed` is set in any case.
Lesson without_stale_prose(Lesson lesson, const Trace& own, const Trace& now);

}  // namespace qkv::inline lesson
