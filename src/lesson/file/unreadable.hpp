#pragma once

#include <optional>
#include <string_view>

#include "lesson/lesson.hpp"

namespace qkv {

/// What toml++ is not handed, since it would not say so, not in the right place or not at all:
/// bytes that are no UTF-8, and keys of very many parts (a.b.c has three), each of which is a table
/// in a table, so that taking half a million of them apart would overflow the stack.
std::optional<Fault> unreadable(std::string_view toml);

}  // namespace qkv
