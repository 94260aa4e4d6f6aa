#pragma once

#include <vector>

#include "check/intake/layout.hpp"
#include "trace/trace.hpp"

namespace qkv {

/// Which axis is the heads' where there are as many of them as rows: the sizes don't say.
enum class SquareHeads { first, inside };

/// Puts the heads of matrices first that have them in the middle (n × h × d), as programs hold
/// them, or side by side (n × h·d).
void take_heads_out(const Trace& trace, std::vector<Handed>& handed, SquareHeads square);

/// Whether any of the matrices has as many heads as rows.
bool has_square_heads(const Trace& trace, const std::vector<Handed>& handed);

}  // namespace qkv
