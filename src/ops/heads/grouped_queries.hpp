#pragma once

#include <vector>

#include "ops/operation.hpp"
#include "tensor/tensor.hpp"

namespace qkv::inline ops {

/// Grouped queries: several query heads share a head of keys or values. Query head k of h uses the
/// head ⌈k / (h / heads)⌉.

/// Returns `heads` heads of fewer: 1, 1, 2, 2.
Tensor repeat_interleaved(const Tensor& shared, std::size_t heads);

/// Return the product with its shared heads assigned wrongly; empty if heads are not grouped.
std::vector<Tensor> tiled_groups(const StepView& step);
std::vector<Tensor> first_head_of_groups(const StepView& step);
std::vector<Tensor> tokens_of_groups(const StepView& step);

inline constexpr Mistake tiled_heads{
    "gqa.tiled", "The shared heads were dealt out in turn: 1, 2, 1, 2.",
    "A group of neighbours shares a head: 1, 1, 2, 2.", tiled_groups};
inline constexpr Mistake first_head_only{"gqa.first-only", "All query heads used the first head.",
                                         "Each group of query heads has a head of its own.",
                                         first_head_of_groups};
inline constexpr Mistake repeated_tokens{
    "gqa.tokens-repeated", "The tokens were repeated instead of the heads.",
    "Repeat along the axis of heads, not along that of tokens.", tokens_of_groups};

}  // namespace qkv::inline ops
