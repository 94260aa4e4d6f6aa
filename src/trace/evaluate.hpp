#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/trace.hpp"

namespace qkv::inline trace {

/// Why a step could not be worked out.
struct StepFault {
  std::size_t step = 0;  ///< its index in the recipe
  std::string message;
};

struct Evaluation {
  Trace trace;                    ///< without the steps that failed and those that need them
  std::vector<StepFault> faults;  ///< one for each step that failed by itself
};

/// Steps, by name or by number ("3"), and givens that are to be seen; none: all of them.
using RequestedSteps = std::vector<std::string>;

/// The index of the step of that name or number; nothing where there is none.
std::optional<std::size_t> step_index(const Recipe& recipe, std::string_view name_or_number);

/// Works out every step that can be worked out and says of the others what is wrong. A step that
/// nothing wanted needs is left out where its operands are large: small ones cost nothing, and a
/// lesson's words may speak of them. A wanted name that the recipe doesn't have is no fault here.
/// Throws InputError where the givens alone are more than `memory_limit` allows.
Evaluation evaluate_all(Recipe recipe, const RequestedSteps& wanted = {});

/// The same, all of it or what is wanted. Throws InputError for the first step that fails.
Trace evaluate(Recipe recipe, const RequestedSteps& wanted = {});

}  // namespace qkv::inline trace
