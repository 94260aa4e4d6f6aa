#pragma once

#include <span>
#include <string_view>

#include "ops/operation.hpp"

namespace qkv::inline ops {

/// All operations that a lesson can name, in teaching order: a new one is listed here alone.
// clang-format off
#define QKV_OPERATIONS \
  QKV_OPERATION(tokenise) QKV_OPERATION(embed) QKV_OPERATION(positions) QKV_OPERATION(add) \
  QKV_OPERATION(project) QKV_OPERATION(split_heads) QKV_OPERATION(repeat_kv) QKV_OPERATION(rope) \
  QKV_OPERATION(score) QKV_OPERATION(scale) QKV_OPERATION(softcap) QKV_OPERATION(alibi) \
  QKV_OPERATION(relative_bias) QKV_OPERATION(mask) QKV_OPERATION(softmax) QKV_OPERATION(shift) \
  QKV_OPERATION(exp) QKV_OPERATION(normalise) QKV_OPERATION(weighted_sum) \
  QKV_OPERATION(concat_heads) QKV_OPERATION(sum_heads) QKV_OPERATION(switch_off) \
  QKV_OPERATION(layer_norm) QKV_OPERATION(rms_norm) QKV_OPERATION(gelu) QKV_OPERATION(relu) \
  QKV_OPERATION(silu) QKV_OPERATION(multiply) QKV_OPERATION(transpose) QKV_OPERATION(matmul) \
  QKV_OPERATION(append) QKV_OPERATION(take) QKV_OPERATION(subtract) QKV_OPERATION(divide) \
  QKV_OPERATION(maximum) QKV_OPERATION(log) QKV_OPERATION(sqrt) QKV_OPERATION(sigmoid) \
  QKV_OPERATION(tanh) QKV_OPERATION(row_max) QKV_OPERATION(row_sum) QKV_OPERATION(row_mean) \
  QKV_OPERATION(running_max) QKV_OPERATION(tile_weights) QKV_OPERATION(running_sum) \
  QKV_OPERATION(running_output) QKV_OPERATION(log_sum_exp) QKV_OPERATION(merge) \
  QKV_OPERATION(cross_entropy) QKV_OPERATION(gradient_step)
// clang-format on

#define QKV_OPERATION(name) extern const Operation name##_operation;
QKV_OPERATIONS
#undef QKV_OPERATION

/// Returns the operations of the list.
std::span<const Operation* const> catalogue();

/// Returns the operation of that name, or nullptr.
const Operation* find_operation(std::string_view name);

/// An option of alibi that no lesson writes. Its value, "first" or "last", is the end of the keys
/// from which a program counts the distances.
inline constexpr std::string_view alibi_counted = "counted";

}  // namespace qkv::inline ops
