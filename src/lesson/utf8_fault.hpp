#pragma once

#include <optional>
#include <string_view>

#include "lesson/lesson.hpp"

namespace qkv {

/// Where a lesson stops being UTF-8, if it does; toml++ would only say so, and not always in the
/// right place.
std::optional<Fault> utf8_fault(std::string_view toml);

}  // namespace qkv
