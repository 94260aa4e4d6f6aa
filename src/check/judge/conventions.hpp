#pragma once

#include <string>
#include <vector>

#include "trace/trace.hpp"

namespace qkv {

/// The lesson with a step taken elsewhere, as its operation's record has it (`Elsewhere`): the
/// queries scaled before the product. `changed` are the steps whose numbers differ from the
/// lesson's.
struct TakenElsewhere {
  Recipe recipe;  ///< without the givens
  std::vector<std::string> changed;
};

/// All such lessons. `trace` is the lesson worked out; its recipe's givens are not looked at.
std::vector<TakenElsewhere> taken_elsewhere(const Recipe& recipe, const Trace& trace);

/// The lesson with ALiBi's distances counted from an end of the keys, as far as all weights stay
/// the same: under a causal mask.
std::vector<TakenElsewhere> counted_from_ends(const Recipe& recipe, const Trace& trace);

}  // namespace qkv
