#include "ops/catalogue.hpp"

namespace qkv::inline ops {
namespace {

constexpr const Operation* all[] = {
    &tokenise_operation,      &embed_operation,
    &positions_operation,     &add_operation,
    &project_operation,       &split_heads_operation,
    &repeat_kv_operation,     &rope_operation,
    &score_operation,         &scale_operation,
    &softcap_operation,       &alibi_operation,
    &relative_bias_operation, &mask_operation,
    &softmax_operation,       &shift_operation,
    &exp_operation,           &normalise_operation,
    &weighted_sum_operation,  &concat_heads_operation,
    &sum_heads_operation,     &switch_off_operation,
    &layer_norm_operation,    &rms_norm_operation,
    &gelu_operation,          &relu_operation,
    &silu_operation,          &multiply_operation,
    &transpose_operation,     &matmul_operation,
    &append_operation,        &take_operation,
    &subtract_operation,      &divide_operation,
    &maximum_operation,       &log_operation,
    &sqrt_operation,          &sigmoid_operation,
    &tanh_operation,          &row_max_operation,
    &row_sum_operation,       &row_mean_operation,
    &running_max_operation,   &tile_weights_operation,
    &running_sum_operation,   &running_output_operation,
    &log_sum_exp_operation,   &merge_operation,
    &cross_entropy_operation, &gradient_step_operation,
};

}  // namespace

std::span<const Operation* const> catalogue() { return all; }

const Operation* find_operation(std::string_view name) {
  const auto* found = std::ranges::find(all, name, &Operation::name);
  return found == std::end(all) ? nullptr : *found;
}

}  // namespace qkv::inline ops
