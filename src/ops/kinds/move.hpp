#pragma once

#include "ops/heads/head_axis.hpp"
#include "ops/kinds/gradient.hpp"

namespace qkv::inline ops {

/// Operations that move cells: a cell of the result is one of the operand, or 0. The gradient puts
/// each cell back to its place, and adds where several came from one.

/// A block of a tensor: some of its heads, rows and columns.
struct Block {
  Indices heads, rows, columns;

  /// Returns the block that is the whole tensor.
  static Block of(const Tensor& whole) {
    return {{0, head_count(whole)}, {0, whole.rows()}, {0, whole.columns()}};
  }

  /// Returns the matrix of the whole tensor that holds matrix `m` of the block.
  std::size_t matrix(const Tensor& whole, std::size_t m) const {
    return m / heads.size() * head_count(whole) + heads.from + m % heads.size();
  }
};

/// Returns a cell of a block of operand `k`.
template <class N>
N block_cell(const Cell<N>& c, std::size_t k, const Block& block) {
  const auto whole = c.of(k, block.matrix(c.input(k), c.matrix));
  return whole(block.rows.from + c.row, block.columns.from + c.column);
}

/// Returns a cell of a tensor with operand `k` as a block, and 0 elsewhere.
template <class N>
N padded_cell(const Cell<N>& c, std::size_t k, const Block& block) {
  const std::size_t heads = head_count(*c.output);
  const std::size_t head = c.matrix % heads;
  if (!block.heads.has(head) || !block.rows.has(c.row) || !block.columns.has(c.column)) return 0.0;
  const std::size_t matrix = c.matrix / heads * block.heads.size() + head - block.heads.from;
  return c.of(k, matrix)(c.row - block.rows.from, c.column - block.columns.from);
}

/// Returns an axis with the indices of all `parts`, and with their labels if every index has one.
Axis joined(const std::string& name, const std::vector<Axis>& parts);

/// Returns `part` with the cells of a block of `whole`.
Tensor block_of(const Tensor& whole, Tensor part, const Block& block);

/// Returns a cell of a tensor that has each head of operand `k` so many times in a row.
template <class N>
N copied_head(const Cell<N>& c, std::size_t k, std::size_t times) {
  return c.of(k, c.matrix / times)(c.row, c.column);
}

/// Returns a cell of the sums of so many neighbouring heads of operand `k`.
template <class N>
N summed_heads(const Cell<N>& c, std::size_t k, std::size_t count) {
  return sum<N>(count,
                [&](std::size_t t) { return c.of(k, c.matrix * count + t)(c.row, c.column); });
}

}  // namespace qkv::inline ops
