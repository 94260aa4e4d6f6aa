#pragma once

#include <string>
#include <vector>

#include "trace/recipe.hpp"

namespace qkv {

/// The lesson with its queries scaled before the product: at one of the steps between the queries'
/// projection and the scores, or at the scores themselves. `changed` are the steps whose numbers
/// differ from the lesson's.
struct ScaledEarly {
  Recipe recipe;
  std::vector<std::string> changed;
};

/// All lessons that come of scaling early; none where the lesson does not scale its scores.
std::vector<ScaledEarly> scaled_early(const Recipe& recipe);

}  // namespace qkv
