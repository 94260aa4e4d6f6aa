#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/recipe.hpp"

namespace qkv::inline trace {

/// What a way back begins at and where it leads.
struct BackwardSpec {
  std::string of;  ///< a step of one number, the loss; empty where gradients are given
  /// Steps, each with the given that holds the gradient which arrives there.
  std::vector<std::pair<std::string, std::string>> from = {};
  std::vector<std::string> wanted = {};  ///< givens; none: all that numbers flow from
};

/// "d_scores"
std::string gradient_name(std::string_view name);

/// The steps of the way back, in order: from the last step to the first, then the givens, each with
/// what comes back through its uses and their sum. Throws InputError: a name that is not there,
/// a wanted given that no number flows from, a name that is taken.
std::vector<StepRecipe> backward_steps(const Recipe& recipe, const BackwardSpec& backward);

/// One step of it by itself: the gradient `grad_output` goes back through step `through` to what it
/// used, `to`. Throws InputError where it did not use that, or uses it twice.
StepRecipe backward_step(const Recipe& recipe, std::string name, std::string grad_output,
                         std::string_view through, std::string_view to);

}  // namespace qkv::inline trace
