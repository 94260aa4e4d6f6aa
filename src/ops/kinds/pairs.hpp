#pragma once

#include <algorithm>
#include <cmath>

#include "ops/cell.hpp"
#include "ops/kinds/formula.hpp"
#include "ops/shape_rule.hpp"

namespace qkv {

/// The form of an operation that works cell by cell on two operands: the second has the size of the
/// first, or is one row, one column or one number, which repeats.
Form form_of_pairs(const Call& call, std::string_view formula);

/// The second operand's number for a cell.
template <class N>
N beside(const Cell<N>& c) {
  const auto b = c(1);
  return b(b.rows == 1 ? 0 : c.row, b.columns == 1 ? 0 : c.column);
}

/// Whether the two operands are one matrix: what is known of a number then holds of both.
inline bool is_with_itself(const CellBase& c) { return c.call->inputs[0] == c.call->inputs[1]; }

/// `function` of each number of the first operand and of what stands beside it.
/// Example: `by_pairs(call, form(call), std::plus<>())`
template <class Function>
Tensor by_pairs(const Call& call, const Form& form, Function function) {
  return by_rows(call, output_of(call, form), 1, [&](const Operands& of, std::span<double> cells) {
    const std::span<const double> a = of.row(0);
    const std::span<const double> b = of.row(1);
    if (b.size() == a.size()) {
      std::ranges::transform(a, b, cells.begin(), function);
    } else {
      std::ranges::transform(a, cells.begin(), [&](double x) { return function(x, b[0]); });
    }
  });
}

}  // namespace qkv
