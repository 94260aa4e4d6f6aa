#pragma once

#include "ops/backward_rule.hpp"

namespace qkv {

/// The way back through a projection: to its rows, to its weight in either layout, to its bias.
WayBack back_through_project(const Use& use);

}  // namespace qkv
