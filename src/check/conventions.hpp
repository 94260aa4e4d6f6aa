#pragma once

#include <string>
#include <vector>

#include "trace/trace.hpp"

namespace qkv {

/// The lesson with its queries scaled before the product: at one of the steps between the queries'
/// projection and the scores, or at the scores themselves. `changed` are the steps whose numbers
/// differ from the lesson's.
struct ScaledEarly {
  Recipe recipe;  ///< without the givens
  std::vector<std::string> changed;
};

/// All lessons that come of scaling early; none where the lesson does not scale its scores. `trace`
/// is the lesson worked out; its recipe's givens are not looked at.
std::vector<ScaledEarly> scaled_early(const Recipe& recipe, const Trace& trace);

}  // namespace qkv
