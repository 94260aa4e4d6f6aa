#pragma once

#include <string_view>

namespace qkv::inline ops {

/// An option of op alibi that no lesson writes: "first" or "last", the end of the keys that a
/// program counts the distances from.
inline constexpr std::string_view alibi_counted = "counted";

}  // namespace qkv::inline ops
