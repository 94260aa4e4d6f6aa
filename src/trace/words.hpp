#pragma once

#include <string_view>

namespace qkv {

/// The axes that the field's own names stand for: "W_Q" → "d_model d_k"; empty for other names.
std::string_view usual_axes(std::string_view name);

/// Whether a matrix of that name is one of weights: W, W_Q, Wq, W1, w_out.
bool is_name_of_weight(std::string_view name);

/// Whether a matrix of that name is queries, keys or values, whose leading axis counts heads: Q, K,
/// V, past_K, V_new.
bool is_name_of_heads(std::string_view name);

}  // namespace qkv
