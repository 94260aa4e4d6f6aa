#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "lesson/lesson.hpp"

namespace qkv {

/// The most parts that a key of a lesson may have: a.b.c has three.
inline constexpr std::size_t deepest_key = 16;

/// Where a key of the TOML text has more parts than that; nothing where none has. Each part is a
/// table in a table, and taking half a million of them apart would overflow the stack.
std::optional<Place> too_deep_key(std::string_view toml);

}  // namespace qkv
