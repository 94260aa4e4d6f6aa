#pragma once

#include <string_view>

namespace qkv {

/// The axes that the field's own names stand for: "W_Q" → "d_model d_k"; empty for other names.
std::string_view usual_axes(std::string_view name);

}  // namespace qkv
