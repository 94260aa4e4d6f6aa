#pragma once

#include <cstddef>
#include <string>

namespace qkv {

/// The catalogue for people who write lessons: each operation with its operands as `of` takes them,
/// what it does, and its options with what may be written for them. Lines of at most `columns`.
std::string operations_text(std::size_t columns);

}  // namespace qkv
