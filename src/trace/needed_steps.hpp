#pragma once

#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "trace/evaluate.hpp"

namespace qkv::inline trace {

/// What of a recipe is looked at, and so what has to be worked out, kept, and made at all.
struct Liveness {
  Liveness(const Recipe& recipe, const RequestedSteps& asked);

  std::vector<bool> needed;           ///< of each step, whether something wanted needs it
  std::set<std::string_view> wanted;  ///< steps and givens, each by its name
  /// What is looked at in the end: what is wanted, and what its arithmetic is made of.
  std::set<std::string_view> kept;
  std::map<std::string_view, std::size_t> last_uses;  ///< of each operand the last needed step
};

/// The attentions of which only the result is wanted, each as its steps in order: nothing else that
/// is needed uses what the others make.
std::vector<std::vector<std::size_t>> fused_attentions(const Recipe& recipe,
                                                       const Liveness& liveness);

}  // namespace qkv::inline trace
