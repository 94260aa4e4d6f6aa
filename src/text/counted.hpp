#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace qkv {

/// "1 layer", "12 layers".
std::string counted(std::size_t count, std::string_view thing);

}  // namespace qkv
