#pragma once

#include <string>

#include "check/compare/compare.hpp"

namespace qkv {

/// "rtol=1e-3, atol=1e-5"
std::string tolerance_text(const ComparedStep& step);

/// What numbers of which kind were allowed to differ by, a line for each kind.
std::string tolerances_text(const Comparison& comparison);

/// A word for where a hand or a program rounded the digits, and the difference is no more than
/// that; else empty.
std::string rounding_hint(const ComparedStep& step);

/// A word for where two programs have rounded a number that all but vanishes: then the relative
/// difference is large and means nothing.
std::string vanishing_hint(const ComparedStep& step);

/// Whether a step that differs does so by no more than these.
bool is_rounding(const ComparedStep& step);

}  // namespace qkv
