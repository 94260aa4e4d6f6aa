#pragma once

#include <algorithm>
#include <optional>
#include <span>

#include "check/intake/layout.hpp"
#include "check/tolerance/cell_tolerance.hpp"
#include "formats/parsed_array.hpp"

/// What a program's numbers show of having been rounded before they were saved.

namespace qkv::inline check {

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

/// What a program computed with whose numbers these are. Numbers of few bits that were saved in
/// more, or printed in full, are all those of the coarser type, though `expected` (what they should
/// be) is not: 0.333984375 is a third in bfloat16, whatever file it is in. Else as they are stored.
Precision detect_precision(const SubmittedArray& submitted, std::span<const double> expected);

/// To how many decimals, where that shows: more was due than they have, or less than they still
/// have. What has few decimals by chance, a half everywhere, shows nothing by itself; where so
/// little speaks, they must be what is due. `program_unit` is what the program tells apart.
std::optional<int> detect_rounding(const SubmittedArray& submitted, const Expected& expected,
                                   const OtherDecimals& others, double program_unit);

/// The decimals that a step's numbers were rounded to, by the numbers alone; 0 where they show
/// none.
int rounded_decimals_of(const SubmittedArray& submitted);

/// Whether the number is more than `slack` away from what so many decimals can write.
bool has_more_decimals(double x, int decimals, double slack);

}  // namespace qkv::inline check
