#pragma once

#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "trace/evaluate.hpp"

namespace qkv::inline trace {

/// Liveness analysis of a recipe: which steps must be computed, and which tensors kept.
struct Liveness {
  Liveness(const Recipe& recipe, const RequestedSteps& asked);

  std::vector<bool> needed;           ///< for each step
  std::set<std::string_view> wanted;  ///< names of steps and givens
  /// The requested tensors and the operands of their steps.
  std::set<std::string_view> kept;
  std::map<std::string_view, std::size_t> last_uses;  ///< operand → last needed user
};

/// Returns the attentions of which only the result is needed, each as step indices in order.
std::vector<std::vector<std::size_t>> fused_attentions(const Recipe& recipe,
                                                       const Liveness& liveness);

}  // namespace qkv::inline trace
