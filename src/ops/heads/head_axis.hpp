#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "ops/operation.hpp"
#include "tensor/tensor.hpp"

namespace qkv::inline ops {

/// Whether the innermost leading axis counts heads: it may count the sentences of a batch.
bool has_heads(const Tensor& tensor);

/// How many heads the tensor has; 1 where it has no axis of them.
std::size_t head_count(const Tensor& tensor);

/// Throws InputError where operand 0 has no axis of heads to do `what` with.
void refuse_without_heads(const Call& call, std::string_view what);

/// The tensor with head `taken(head)` in the place of each head.
Tensor with_heads(const Tensor& tensor, const std::function<std::size_t(std::size_t head)>& taken);

/// The tensor with each matrix of all its `heads`, a row for each head and a column for each cell,
/// put through a formula.
Tensor by_heads(const Tensor& tensor, std::size_t heads, Matrix (*formula)(const Matrix&));

/// More heads than these are not taken for each other.
inline constexpr std::size_t most_other_heads = 16;

/// The step where an operand's heads are taken for each other: all are one of them, or each is the
/// one beside it. Nothing where no operand has several heads.
std::vector<Tensor> with_other_heads(const StepView& step);

inline constexpr Mistake other_heads{
    "heads.other", "Another head's numbers were taken: each head works on its own.",
    "Which head stands behind each number?", with_other_heads};

/// The commonest slip of a program that cuts features into heads, `x.view(heads, n, d_k)`, or joins
/// them: the numbers in their order are counted off into another shape, where axes should change
/// places. `shape` is the right result.
Tensor reshape_only(const Tensor& numbers, Tensor shape);

/// What is said of it where heads are cut, and what to do.
inline constexpr std::string_view only_reshaped_into_heads =
    "The numbers were counted off into heads row by row (a reshape alone).";
inline constexpr std::string_view cut_columns_into_heads =
    "Every head sees every token: cut the columns (tokens × heads × features), then put the heads "
    "before the tokens.";

}  // namespace qkv::inline ops
