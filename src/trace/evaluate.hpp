#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

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

}  // namespace qkv::inline trace
