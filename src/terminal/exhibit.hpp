#pragma once

#include <string>

#include "exposition/exposition.hpp"
#include "terminal/walk.hpp"

namespace qkv {

/// An exhibit's matrices, each under its name, as far as there is room; of more than four the first
/// two and the last. `whole` says how to see them whole. A step's weights have dots as well, and
/// what the dots mean stands below.
std::string exhibit_text(const Exhibit& exhibit, Convention convention, const std::string& whole,
                         const WalkLook& look);

}  // namespace qkv
