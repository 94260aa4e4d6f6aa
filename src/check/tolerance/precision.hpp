#pragma once

#include <algorithm>
#include <optional>
#include <span>

#include "check/intake/layout.hpp"
#include "check/tolerance/cell_tolerance.hpp"
#include "formats/parsed_array.hpp"

/// Detects how a program's numbers were rounded before they were saved.

namespace qkv::inline check {

/// A number this low, where -inf is expected, is a finite mask.
inline constexpr double finite_mask = -1000;

/// How exact the numbers of a precision are.
struct PrecisionRule {
  Precision precision;
  int decimals;     ///< the most that a binary number stands for
  double floor;     ///< smallest difference that counts, relative to the largest number
  double least;     ///< the least value used for the largest number
  double nearness;  ///< relative distance of a stored number from the intended one
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

/// True if the type holds the number exactly. Digits and float64 hold any.
bool is_held(double x, Precision type);

/// Returns the precision that a program computed with, even if the file stores or prints more
/// digits. A coarser type is detected if all numbers fit it, though `expected` does not:
/// 0.333984375 is a third in bfloat16. Otherwise returns the stored precision.
Precision detect_precision(const SubmittedArray& submitted, std::span<const double> expected);

/// Returns the decimals that the numbers were rounded to, if the whole submission was visibly
/// rounded: no matrix has all its digits, and numbers have few decimals where the right ones have
/// more. Halves and quarters prove nothing.
std::optional<int> detect_rounding(const SubmittedArray& submitted, const Expected& expected,
                                   const OtherDecimals& others);

/// Returns what one matrix shows of the submission's rounding. `truth` is the lesson's step;
/// nullptr for a given: copied numbers show no more than that nothing was rounded.
OtherDecimals decimals_of(const SubmittedArray& submitted, const Tensor* truth);

/// True if the number is further than `slack` from every number of so many decimals.
bool has_more_decimals(double x, int decimals, double slack);

}  // namespace qkv::inline check
