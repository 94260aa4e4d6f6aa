#pragma once

#include "ops/operation.hpp"
#include "tensor/matmul.hpp"

namespace qkv {

/// First operand times second, matrix by matrix, on the axes of `form`.
Tensor product(const Call& call, const Form& form);

/// The range of a product of two ranges, matrix by matrix, from midpoints and radii: at most 1.5
/// times as wide as the cells' own (Rump, "Fast and parallel interval arithmetic", 1999). Nothing
/// where a bound is infinite.
std::optional<Range> product_range(const Call& call, std::span<const Bounds> operands,
                                   const Tensor& result, RightSide right);

/// One cell of such a product: a row of the first operand times a column of the second.
template <class N>
N product_cell(const Cell<N>& c) {
  const auto a = c(0);
  const auto b = c(1);
  return sum<N>(a.columns, [&](std::size_t t) { return a(c.row, t) * b(t, c.column); });
}

}  // namespace qkv
