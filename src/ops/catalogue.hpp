#pragma once

#include <span>
#include <string_view>

#include "ops/operation.hpp"

namespace qkv::inline ops {

extern const Operation tokenise_operation;
extern const Operation embed_operation;
extern const Operation positions_operation;
extern const Operation add_operation;
extern const Operation project_operation;
extern const Operation split_heads_operation;
extern const Operation concat_heads_operation;
extern const Operation repeat_kv_operation;
extern const Operation rope_operation;
extern const Operation score_operation;
extern const Operation scale_operation;
extern const Operation softcap_operation;
extern const Operation alibi_operation;
extern const Operation relative_bias_operation;
extern const Operation mask_operation;
extern const Operation softmax_operation;
extern const Operation shift_operation;
extern const Operation exp_operation;
extern const Operation normalise_operation;
extern const Operation weighted_sum_operation;
extern const Operation sum_heads_operation;
extern const Operation switch_off_operation;
extern const Operation layer_norm_operation;
extern const Operation rms_norm_operation;
extern const Operation gelu_operation;
extern const Operation relu_operation;
extern const Operation silu_operation;
extern const Operation multiply_operation;
extern const Operation subtract_operation;
extern const Operation divide_operation;
extern const Operation maximum_operation;
extern const Operation log_operation;
extern const Operation sqrt_operation;
extern const Operation sigmoid_operation;
extern const Operation tanh_operation;
extern const Operation row_max_operation;
extern const Operation row_sum_operation;
extern const Operation row_mean_operation;
extern const Operation running_max_operation;
extern const Operation tile_weights_operation;
extern const Operation running_sum_operation;
extern const Operation running_output_operation;
extern const Operation log_sum_exp_operation;
extern const Operation merge_operation;
extern const Operation cross_entropy_operation;
extern const Operation gradient_step_operation;
extern const Operation transpose_operation;
extern const Operation matmul_operation;
extern const Operation append_operation;
extern const Operation take_operation;

/// All operations that a lesson can name, in teaching order.
std::span<const Operation* const> catalogue();

/// Returns the operation of that name, or nullptr.
const Operation* find_operation(std::string_view name);

/// An option of alibi that no lesson writes. Its value, "first" or "last", is the end of the keys
/// from which a program counts the distances.
inline constexpr std::string_view alibi_counted = "counted";

}  // namespace qkv::inline ops
