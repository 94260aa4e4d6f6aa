#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lesson/lesson.hpp"
#include "trace/recipe.hpp"
#include "trace/trace.hpp"

namespace qkv::inline lesson {

/// Implements --text: replaces the recipe's text. Throws InputError if no step reads a text.
void set_text(Recipe& recipe, const std::string& text);

/// Whether steps can be set, or only givens.
enum class Settable { givens, givens_and_steps };

/// Implements --set for cells of a given or step ("W_Q[head 1,1,2]=0.5"; * means all along an
/// axis). A step becomes a given, and later steps are recomputed from it. `named` is the unchanged
/// lesson, whose givens have labels. Throws InputError with an example.
void set_cell(Recipe& recipe, const std::string& change, const Trace& named,
              Settable settable = Settable::givens_and_steps);

/// Applies all changes, cells or options: givens first, then steps in order, each computed from the
/// changes before it. `is_changed` means that the recipe is no longer `named`'s.
void set_all(Recipe& recipe, const std::vector<std::string>& changes, const Trace& named,
             bool is_changed);

/// Returns the evaluated lesson after these changes.
Trace with_set(const Trace& trace, const std::vector<std::string>& changes);

/// Implements --patch: replaces a given or step by a file ("h0.context=other.npy"). Throws
/// InputError as above, or if the file has another shape.
void patch_matrix(Recipe& recipe, const std::string& change, const Trace& named);

/// Implements --set for options of a step ("h0.Q_rope.pairing=interleaved", "scaled_scores.by=d_k")
/// and its operands ("h0.Q_rope.of=h0.Q", separated by commas). * matches any part of a step's
/// name: "*.pairing=halves" applies to each step with that option. Returns false if `change` sets
/// no option: a cell, or an unknown name. Throws InputError with an example.
bool set_option(Recipe& recipe, std::string_view change);

/// Returns the given or step that a --set changes: "W_Q" for "W_Q[1,2]=0.5", "h0.Q_rope" for
/// "h0.Q_rope.pairing=halves". May contain * for several.
std::string_view set_name(const Recipe& recipe, std::string_view change);

/// Removes prose that no longer holds after a change. `own` is the file's trace, `now` the changed
/// one. A step loses its title and all of say and notice that still_true rejects, in two cases. Its
/// matrix, or one it is computed from, has other numbers, labels or size; or its prose quotes such
/// a matrix. If nothing is left, the operation's prose is used. A `general` step keeps its title;
/// questions stay. Always sets `changed`.
Lesson without_stale_prose(Lesson lesson, const Trace& own, const Trace& now);

}  // namespace qkv::inline lesson
