#pragma once

#include "trace/trace.hpp"

namespace qkv::inline trace {

/// Why a step could not be evaluated.
struct StepFault {
  std::size_t step = 0;  ///< its index in the recipe
  std::string message;
};

struct Evaluation {
  Trace trace;                    ///< without failed steps and those that need them
  std::vector<StepFault> faults;  ///< one per step that failed by itself
};

/// Requested steps, by name or number ("3"), and givens; empty: all.
using RequestedSteps = std::vector<std::string>;

/// Returns the index of the step of that name or number; nothing if there is none.
std::optional<std::size_t> step_index(const Recipe& recipe, std::string_view name_or_number);

/// Liveness analysis of a recipe: which steps must be computed, and which tensors kept.
struct Liveness {
  Liveness(const Recipe& recipe, const RequestedSteps& asked);

  std::vector<bool> needed;           ///< for each step
  std::set<std::string_view> wanted;  ///< names of steps and givens
  /// The requested tensors and the operands of their steps.
  std::set<std::string_view> kept;
  std::map<std::string_view, std::size_t> last_uses;  ///< operand → last needed user
};

/// Evaluates every step that can be evaluated and reports the others. Skips large steps on which
/// nothing requested depends; small ones are cheap, and a lesson's prose may mention them. Unknown
/// names in `wanted` are ignored. Throws InputError if the givens alone exceed `memory_limit`.
Evaluation evaluate_all(Recipe recipe, const RequestedSteps& wanted = {});

/// The same, but throws InputError for the first step that fails.
Trace evaluate(Recipe recipe, const RequestedSteps& wanted = {});

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
