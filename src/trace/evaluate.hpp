#pragma once

#include <string>
#include <vector>

#include "trace/trace.hpp"

namespace qkv {

/// Why a step could not be worked out.
struct StepFault {
  std::size_t step = 0;  ///< its index in the recipe
  std::string message;
};

struct Evaluation {
  Trace trace;                    ///< without the steps that failed and those that need them
  std::vector<StepFault> faults;  ///< one for each step that failed by itself
};

/// Works out every step that can be worked out and says of the others what is wrong. Throws
/// InputError where the givens alone are more than `memory_limit` allows.
Evaluation evaluate_all(Recipe recipe);

/// Works out the whole recipe. Throws InputError for the first step that fails.
Trace evaluate(const Recipe& recipe);

}  // namespace qkv
