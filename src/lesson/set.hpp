#pragma once

#include <string>

#include "trace/recipe.hpp"
#include "trace/trace.hpp"

namespace qkv {

/// What --text does: the recipe starts from another text. Throws InputError where it reads none.
void set_text(Recipe& recipe, const std::string& text);

/// What --set does: the cells of a given have another value ("W_Q[head 1,1,2]=0.5"; * is all along
/// an axis). `named` is the lesson as it stands: there its givens have got their labels. Throws
/// InputError with what to write.
void set_cell(Recipe& recipe, const std::string& change, const Trace& named);

}  // namespace qkv
