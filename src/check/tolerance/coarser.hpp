#pragma once

#include <span>

#include "check/intake/layout.hpp"

namespace qkv {

/// What a program computed with whose numbers these are. Numbers of few bits that were saved in
/// more, or printed in full, are all those of the coarser type, though `due` (what they should be)
/// is not: 0.333984375 is a third in bfloat16, whatever file it is in. Else as they are stored.
Precision precision_of(const Handed& handed, std::span<const double> due);

}  // namespace qkv
