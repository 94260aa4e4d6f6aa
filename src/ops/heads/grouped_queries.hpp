#pragma once

#include <vector>

#include "ops/operation.hpp"
#include "tensor/tensor.hpp"

namespace qkv::inline ops {

/// Grouped queries: several query heads share a head of keys or values. Query head k of h uses the
/// head ⌈k / (h / heads)⌉.

/// Returns `heads` heads of fewer: 1, 1, 2, 2.
Tensor repeat_interleaved(const Tensor& shared, std::size_t heads);

/// Return the shared heads of a product's second operand dealt out wrongly; empty if there are
/// none.
Versions tiled_groups(const StepView& step);
Versions first_head_of_groups(const StepView& step);
Versions tokens_of_groups(const StepView& step);

inline constexpr Mistake tiled_heads{
    "gqa.tiled", "The shared heads were dealt out in turn: 1, 2, 1, 2.",
    "A group of neighbours shares a head: 1, 1, 2, 2.", Operand{1, tiled_groups}};
inline constexpr Mistake first_head_only{"gqa.first-only", "All query heads used the first head.",
                                         "Each group of query heads has a head of its own.",
                                         Operand{1, first_head_of_groups}};
inline constexpr Mistake repeated_tokens{
    "gqa.tokens-repeated", "The tokens were repeated instead of the heads.",
    "Repeat along the axis of heads, not along that of tokens.", Operand{1, tokens_of_groups}};

}  // namespace qkv::inline ops
