#pragma once

#include <string>
#include <vector>

#include "check/intake/layout.hpp"
#include "trace/trace.hpp"

namespace qkv {

/// Whether the lesson turns anything by its position.
bool has_rope(const Trace& trace);

/// Puts the columns of turned queries and keys (op rope) in the lesson's order where a program has
/// them in that of the other pairing, as permuted weights make them: what scores are made of them
/// is the same. Says which steps those are; none where not both queries and keys were handed in,
/// since only alike are they as good.
std::vector<std::string> take_other_rope_layout(const Trace& trace, std::vector<Handed>& handed);

}  // namespace qkv
