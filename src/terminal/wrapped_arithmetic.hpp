#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace qkv {

/// A line of arithmetic broken at its operators to at most `columns`; names of cells stay whole.
std::vector<std::string> wrapped_arithmetic(std::string_view line, std::size_t columns);

}  // namespace qkv
