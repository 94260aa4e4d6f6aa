#pragma once

#include <optional>

#include "check/intake/layout.hpp"

namespace qkv {

/// The number rounded to so many decimals, halves away from zero; one that has no such decimals to
/// lose, being too large, stays as it is.
double rounded(double x, int decimals);

/// The decimals that all numbers of a binary file were rounded to before they were saved: 3 for
/// 0.125f, 0.1f. Nothing where they keep more than their precision can hold for certain (12
/// decimals of a float64, 6 of a float32, 3 of a float16, 2 of a bfloat16), or where most are too
/// large for it to hold a decimal more.
std::optional<int> rounded_decimals(const Cells& cells, Precision precision);

/// What a learner meant who rounded and then saved in few bits: 0.1f is 0.1 and not
/// 0.10000000149. Numbers that were not rounded, and float64, stay as they are.
void take_as_meant(Handed& handed);

}  // namespace qkv
