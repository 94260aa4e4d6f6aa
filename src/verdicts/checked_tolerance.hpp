#pragma once

#include <string>

#include "check/check.hpp"

namespace qkv {

/// What a cell of the step may be off by, and why: "you wrote 3 decimals: a cell is right within
/// 0.001".
std::string tolerance_text(const StepReport& step);

}  // namespace qkv
