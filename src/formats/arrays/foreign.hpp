#pragma once

#include <string_view>

namespace qkv {

/// What bytes are that were handed in as a .safetensors file and are something else that people
/// take for one, and what to do: "this is a zip, …"; empty where nothing is known of them.
std::string_view foreign_to_safetensors(std::string_view bytes);

}  // namespace qkv
