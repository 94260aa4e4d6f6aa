#pragma once

#include <string>
#include <string_view>

#include "trace/recipe.hpp"

namespace qkv {

/// What --set does to how a step is worked out: another option of its operation
/// ("h0.Q_rope.pairing=interleaved", "scaled_scores.by=d_k"), or other operands
/// ("h0.Q_rope.of=h0.Q", with commas between several). * stands for any part of the step's name:
/// "*.pairing=halves" is said to each step that has such an option. False where `change` speaks of
/// no option: a cell, or a name that no step has. Throws InputError with what to write.
bool set_option(Recipe& recipe, std::string_view change);

/// The given or step that a --set speaks of: "W_Q" in "W_Q[1,2]=0.5", "h0.Q_rope" in
/// "h0.Q_rope.pairing=halves"; * where it is several.
std::string_view set_name(const Recipe& recipe, std::string_view change);

}  // namespace qkv
