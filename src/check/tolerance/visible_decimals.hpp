#pragma once

#include <optional>

#include "check/tolerance/cell_tolerance.hpp"

/// What a program's numbers show of having been rounded before they were saved.
namespace qkv {

/// To how many decimals, where that shows: more was due than they have, or less than they still
/// have. What has few decimals by chance, a half everywhere, shows nothing by itself; where so
/// little speaks, they must be what is due. `program_unit` is what the program tells apart.
std::optional<int> visible_decimals(const Handed& handed, const Due& due,
                                    const OtherMatrices& others, double program_unit);

/// The decimals that a step's numbers were rounded to, by the numbers alone; 0 where they show
/// none.
int rounded_decimals_of(const Handed& handed);

/// Whether the number is more than `slack` away from what so many decimals can write.
bool has_more_decimals(double x, int decimals, double slack);

}  // namespace qkv
