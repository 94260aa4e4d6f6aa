#pragma once

#include <string>
#include <vector>

#include "trace/recipe.hpp"
#include "trace/trace.hpp"

namespace qkv {

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

}  // namespace qkv
