#pragma once

#include <algorithm>

#include "formats/parsed_array.hpp"

namespace qkv {

/// A number as low as this where -inf is due means "never".
inline constexpr double finite_mask = -1000;

/// What numbers of a precision are good for.
struct PrecisionRule {
  Precision precision;
  int decimals;     ///< the most that a binary number stands for
  double floor;     ///< what they tell apart at most, relative to the largest
  double least;     ///< which counts as so large at least
  double nearness;  ///< how far a stored number is from the one that was meant, relatively
};
inline constexpr PrecisionRule precision_rules[] = {
    {Precision::digits, 0, 1e-6, 1, 0},           {Precision::bfloat16, 2, 0x1p-7, 0, 0x1p-8},
    {Precision::float16, 3, 0x1p-10, 0, 0x1p-11}, {Precision::float32, 6, 1e-6, 1, 0x1p-24},
    {Precision::float64, 12, 1e-12, 1, 0x1p-52},
};

inline const PrecisionRule& rule_of(Precision precision) {
  return *std::find_if(std::begin(precision_rules), std::end(precision_rules),
                       [&](const PrecisionRule& rule) { return rule.precision == precision; });
}

}  // namespace qkv
