#pragma once

#include <string>
#include <string_view>

namespace qkv::fuzz {

/// A .safetensors file of this header: its length before it, and behind it as many bytes of numbers
/// as it speaks of, as far as there is sense in giving it them.
std::string safetensors_of(std::string_view header);

}  // namespace qkv::fuzz
