#pragma once

#include <span>
#include <vector>

#include "ops/mistake.hpp"

namespace qkv {

/// What becomes of a step where heads take other heads' numbers, each the one that comes nearest to
/// what was written: of the result itself, or of one of the operands. Nothing where no other head
/// comes nearer than its own. `step.tensor` is the right result; `written` has as many cells.
std::vector<Tensor> taken_from_other_heads(const Source& step, std::span<const double> written);

}  // namespace qkv
