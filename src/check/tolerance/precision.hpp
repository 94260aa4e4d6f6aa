#pragma once

#include "check/intake/layout.hpp"
#include "check/tolerance/cell_tolerance.hpp"
#include "formats/arrays/dtype.hpp"

/// Detects how a program's numbers were rounded before they were saved.

namespace qkv::inline check {

/// Returns the smallest difference between two of a program's numbers that counts: by the largest
/// of the right ones.
double unit_of_program(Precision precision, std::span<const double> right);

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
