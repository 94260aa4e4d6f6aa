#pragma once

#include "ops/operation.hpp"

namespace qkv {

/// First operand times second, matrix by matrix, on the axes of `form`.
Tensor product(const Call& call, const Form& form);

/// One cell of such a product: a row of the first operand times a column of the second.
template <class N>
N product_cell(const Cell<N>& c) {
  const auto a = c(0);
  const auto b = c(1);
  return sum<N>(a.columns, [&](std::size_t t) { return a(c.row, t) * b(t, c.column); });
}

}  // namespace qkv
