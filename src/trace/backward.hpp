#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/trace.hpp"

namespace qkv::inline trace {

/// Where the backward pass starts and which gradients it should produce.
struct BackwardSpec {
  std::string of;  ///< the loss, a step of one number; empty if gradients are given
  /// Steps, each with the given that holds the gradient of its output.
  std::vector<std::pair<std::string, std::string>> from = {};
  std::vector<std::string> wanted = {};  ///< givens; empty: all that influence the result
};

/// Returns "d_scores" for "scores".
std::string gradient_name(std::string_view name);

/// Returns the steps of the backward pass, from the last step to the first, then the givens: the
/// gradient by each use, then their sum. Throws InputError for unknown names, wanted givens that
/// influence nothing, and names that are taken.
std::vector<StepRecipe> backward_steps(const Recipe& recipe, const BackwardSpec& backward);

/// Returns one backward step: from `grad_output` through step `through` to its operand `to`. Throws
/// InputError if `to` is no operand, or is used twice.
StepRecipe backward_step(const Recipe& recipe, std::string name, std::string grad_output,
                         std::string_view through, std::string_view to);

}  // namespace qkv::inline trace
