#pragma once

#include "check/compare/compare.hpp"

namespace qkv {

/// Takes out of what differs where one side has -inf and the other a number so low that it hides
/// the same key.
void accept_masks(ComparedStep& step);

}  // namespace qkv
