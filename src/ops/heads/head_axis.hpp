#pragma once

#include "ops/cell.hpp"

namespace qkv::inline ops {

/// True if the innermost leading axis counts heads; it may count the sentences of a batch instead.
bool has_heads(const Tensor& tensor);

/// Returns the number of heads; 1 if there is no axis of heads.
std::size_t head_count(const Tensor& tensor);

/// Operation::needs_heads of an operation that always needs them.
inline bool has_axis_of_heads(std::size_t, const Options&) { return true; }

/// Throws InputError if operand 0 has no axis of heads to do `what` with.
void refuse_without_heads(const Call& call, std::string_view what);

/// Throws InputError unless the second operand has as many numbers, `what`, as the first has heads.
void require_one_per_head(const Call& call, std::string_view what);

/// Returns the second operand's number for the cell's head.
template <class N>
N number_of_head(const Cell<N>& c) {
  const std::size_t head = c.matrix % head_count(c.input(0));
  const std::size_t columns = c.input(1).columns();
  const std::size_t size = c.input(1).rows() * columns;
  return c.of(1, head / size)(head % size / columns, head % columns);
}

/// Returns a tensor of `heads` heads, each of them head `taken(head)` of `tensor`.
Tensor with_heads(const Tensor& tensor, std::size_t heads,
                  const std::function<std::size_t(std::size_t head)>& taken);

/// Returns the tensor with a formula applied across all `heads`: the formula's matrix has a row for
/// each head and a column for each cell. Empty if there is one head.
Versions by_heads(const Tensor& tensor, std::size_t heads, Matrix (*formula)(const Matrix&));

/// Up to this many heads are compared with each other.
inline constexpr std::size_t most_other_heads = 16;

/// Returns the tensor with each head's numbers in all heads, up to `most` of them in turn; empty if
/// it has one head, or too many to compare.
Versions one_head_in_all(const Tensor& tensor, std::size_t most = most_other_heads);

/// Returns the step's results with the heads of an operand, or those that it makes, confused: all
/// are one head, or each is its neighbour.
Versions with_other_heads(const StepView& step);

inline constexpr Mistake other_heads{
    "heads.other", "Another head's numbers were taken: each head works on its own.",
    "Which head does each number belong to?", with_other_heads};

/// Returns the numbers in the right result's `shape` without transposing axes: the commonest slip
/// of programs that split features into heads, `x.view(heads, n, d_k)`, or join them.
Tensor reshape_only(const Tensor& numbers, const Tensor& shape);

/// Returns the heads of the transpose of the matrix that they make side by side, as programs hold a
/// weight of all heads; empty if that is not square.
Versions transposed_side_by_side(const Tensor& heads);

/// Returns the columns of `joined` dealt out in turn: feature j of head k is column j · heads + k.
/// `heads` has the shape and the right numbers.
Tensor dealt_out_to_heads(const Tensor& joined, const Tensor& heads);

inline constexpr std::string_view dealt_out_in_turn =
    "The features were dealt out in turn instead of cut into blocks.";
inline constexpr std::string_view first_block_first =
    "Head 1 takes the first block of columns, whole.";

/// The message and the hint for `reshape_only` where heads are split.
inline constexpr std::string_view only_reshaped_into_heads =
    "The numbers were counted off into heads row by row (a reshape alone).";
inline constexpr std::string_view cut_columns_into_heads =
    "Every head sees every token: cut the columns (tokens × heads × features), then put the heads "
    "before the tokens.";

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
