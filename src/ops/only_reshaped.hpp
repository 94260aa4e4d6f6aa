#pragma once

#include <string_view>

#include "tensor/tensor.hpp"

namespace qkv {

/// The commonest slip of a program that cuts features into heads, `x.view(heads, n, d_k)`, or joins
/// them: the numbers in their order are counted off into another shape, where axes should change
/// places. `shape` is the right result.
inline Tensor counted_off(const Tensor& numbers, Tensor shape) {
  shape.values = numbers.values;
  return shape;
}

/// What is said of it where heads are cut, and what to do.
constexpr std::string_view only_reshaped_into_heads =
    "The numbers were counted off into heads row by row (a reshape alone).";
constexpr std::string_view cut_columns_into_heads =
    "Every head sees every token: cut the columns (tokens × heads × features), then put the heads "
    "before the tokens.";

}  // namespace qkv
