#pragma once

#include "ops/cell.hpp"
#include "ops/result.hpp"
#include "tensor/matmul.hpp"

namespace qkv {

/// First operand times second (or its transpose), matrix by matrix, on the axes of `form`; a third
/// one is added to each row.
Tensor product(const Call& call, const Form& form, RightSide right);

/// The range of such a product, matrix by matrix, from midpoints and radii: at most 1.5 times as
/// wide as the cells' own (Rump, "Fast and parallel interval arithmetic", 1999). Nothing where a
/// bound is infinite.
std::optional<Range> product_range(const Call& call, std::span<const Bounds> operands,
                                   const Tensor& result, RightSide right);

/// One cell of it: a row of the first operand times a column of the second, or a row of it.
template <class N>
N product_cell(const Cell<N>& c, RightSide right) {
  const auto a = c(0);
  const auto b = c(1);
  const bool turned = right == RightSide::transposed;
  const N result = sum<N>(a.columns, [&](std::size_t t) {
    return a(c.row, t) * (turned ? b(c.column, t) : b(t, c.column));
  });
  return c.call->inputs.size() == 3 ? result + c(2)(0, c.column) : result;
}

/// The maths of an operation that is such a product, but for its form.
template <RightSide right>
struct ProductMaths {
  template <class N>
  static N cell(const Cell<N>& c) {
    return product_cell(c, right);
  }

  static std::optional<Range> range(const Call& call, std::span<const Bounds> operands,
                                    const Tensor& result) {
    return product_range(call, operands, result, right);
  }
};

}  // namespace qkv
