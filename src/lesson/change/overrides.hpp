#pragma once

#include "lesson/lesson.hpp"
#include "trace/trace.hpp"

namespace qkv::inline lesson {

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
