#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <type_traits>
#include <vector>

#include "ops/numbers/decimal.hpp"
#include "ops/numbers/expression.hpp"
#include "ops/numbers/interval.hpp"
#include "ops/operation.hpp"

namespace qkv::inline ops {

/// The lowest and the highest that each cell of an operand can be.
struct Bounds {
  const Tensor* low = nullptr;
  const Tensor* high = nullptr;
};

/// An operand's matrix as one reading of a cell sees it: as numbers, as intervals, as terms to
/// print, or as numbers to their last decimal.
template <class N>
struct OperandMatrix {
  std::span<const double> values;  ///< of intervals the lowest
  std::size_t rows, columns;
  std::size_t operand = 0, matrix = 0;     ///< where it stands, for terms
  std::span<const double> high = {};       ///< of intervals
  std::span<const Decimal> decimals = {};  ///< none where no cell is exact

  N operator()(std::size_t i, std::size_t j) const {
    const std::size_t at = i * columns + j;
    if constexpr (std::is_same_v<N, Interval>) {
      return {values[at], high[at]};
    } else if constexpr (std::is_same_v<N, Expression>) {
      return Expression::of_cell({.operand = operand, .matrix = matrix, .row = i, .column = j},
                                 values[at]);
    } else if constexpr (std::is_same_v<N, Decimal>) {
      return decimals.empty() ? Decimal::unknown() : decimals[at];
    } else {
      return values[at];
    }
  }
};

/// What the maths of one cell may look at: which cell it is, and the operands.
struct CellBase {
  const Call* call = nullptr;
  const Tensor* output = nullptr;  ///< for its shape; its values may not be there yet
  std::size_t matrix = 0;
  std::size_t row = 0;
  std::size_t column = 0;

  const Tensor& input(std::size_t k) const { return *call->inputs[k]; }
  /// The matrix of operand `k` that belongs to this cell's: leading axes of size 1 or missing
  /// repeat, and of fewer heads each belongs to as many neighbours.
  std::size_t matrix_index(std::size_t k) const;
};

/// The same for one reading, which may know more of the operands than their numbers.
template <class N>
struct Cell : CellBase {
  std::span<const Bounds> bounds = {};                      ///< of each operand, for intervals
  std::span<const std::span<const Decimal>> decimals = {};  ///< of each; none if none is exact

  /// Operand `k`'s matrix that belongs to this cell's, or another one, `m`.
  OperandMatrix<N> operator()(std::size_t k) const { return of(k, matrix_index(k)); }
  OperandMatrix<N> of(std::size_t k, std::size_t m) const;
};

/// Calls `use` for every cell of `first.output`, row by row, several rows at a time where they are
/// many: `operations` is about how many additions or copies a cell costs.
template <class N>
void each_cell(const Cell<N>& first, std::size_t operations,
               const std::function<void(const Cell<N>& cell, std::size_t place)>& use);

/// term(0) + term(1) + …, added from left to right.
template <class N, class Term>
N sum(std::size_t count, Term term) {
  if constexpr (std::is_same_v<N, Expression>) {
    std::vector<Expression> terms;
    for (std::size_t t = 0; t < count; ++t) terms.push_back(term(t));
    if (terms.size() == 1) return terms.front();
    return Expression::of(Expression::Kind::sum, std::move(terms));
  } else {
    N total = 0.0;
    for (std::size_t t = 0; t < count; ++t) {
      total = total + term(t);
      if constexpr (std::is_same_v<N, Decimal>) {
        if (!total.is_exact()) break;  // whatever follows
      }
    }
    return total;
  }
}

}  // namespace qkv::inline ops
