#pragma once

#include <type_traits>

#include "ops/numbers/numbers.hpp"
#include "ops/operation.hpp"
#include "tensor/resources.hpp"

namespace qkv::inline ops {

/// The option of steps that align queries with keys.
inline constexpr std::string_view alignments[] = {"end", "start"};
inline constexpr OptionRule align_option{
    .name = "align",
    .help = "where there are fewer queries than keys: they are the last tokens, or the first",
    .list = alignments};

/// Returns the key that belongs to the first query, counted from 0.
std::size_t first_query(const Call& call);

/// Indices from `from` to before `to`, counted from 0.
struct Indices {
  std::size_t from = 0;
  std::size_t to = 0;

  std::size_t size() const { return to - from; }
  bool has(std::size_t i) const { return from <= i && i < to; }
};

/// A mask that depends on positions only.
struct MaskPattern {
  enum class Kind { causal, sliding_window, prefix };

  Kind kind = Kind::causal;
  std::size_t first = 0;  ///< the key that belongs to the first query
  std::size_t keys = 0;
  std::size_t width = 0;   ///< of a window: the number of keys, the query's own included
  bool both = false;       ///< the window also covers as many later keys
  std::size_t prefix = 0;  ///< number of keys that every query sees
  std::size_t ahead = 0;   ///< number of later keys that a query sees by mistake

  /// Returns the keys that a query sees.
  Indices operator()(std::size_t query) const;
};

/// The lowest and highest value of each cell of an operand.
struct Bounds {
  const Tensor* low = nullptr;
  const Tensor* high = nullptr;
};

/// An operand's matrix as the number type N reads it.
template <class N>
struct OperandMatrix {
  std::span<const double> values;  ///< for Interval: the lower bounds
  std::size_t rows, columns;
  std::size_t operand = 0, matrix = 0;     ///< its place, for Expression
  std::span<const double> high = {};       ///< for Interval: the upper bounds
  std::span<const Decimal> decimals = {};  ///< for Decimal; empty if no cell is exact

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

/// The place of a cell in the result, and the call that it belongs to.
struct CellBase {
  const Call* call = nullptr;
  const Tensor* output = nullptr;  ///< for its shape; it may have no values yet
  std::size_t matrix = 0;
  std::size_t row = 0;
  std::size_t column = 0;

  const Tensor& input(std::size_t k) const { return *call->inputs[k]; }
  /// Returns the index of operand `k`'s matrix for this cell. Leading axes of size 1 or missing
  /// repeat; each of fewer heads serves a group of neighbours.
  std::size_t matrix_index(std::size_t k) const;
};

/// A cell for one number type, with what that type needs beside the operands.
template <class N>
struct Cell : CellBase {
  std::span<const Bounds> bounds = {};                      ///< of each operand, for Interval
  std::span<const std::span<const Decimal>> decimals = {};  ///< of each; empty if none is exact

  /// Return operand `k`'s matrix for this cell, and its matrix `m`.
  OperandMatrix<N> operator()(std::size_t k) const { return of(k, matrix_index(k)); }
  OperandMatrix<N> of(std::size_t k, std::size_t m) const {
    const Tensor& own = input(k);
    OperandMatrix<N> result{
        .values = {}, .rows = own.rows(), .columns = own.columns(), .operand = k, .matrix = m};
    if constexpr (std::is_same_v<N, Interval>) {
      result.values = bounds[k].low->cells(m);
      result.high = bounds[k].high->cells(m);
    } else if constexpr (std::is_same_v<N, Decimal>) {
      const std::size_t size = decimals[k].empty() ? 0 : result.rows * result.columns;
      result.decimals = decimals[k].subspan(m * size, size);
    } else {
      result.values = own.cells(m);
    }
    return result;
  }
};

/// Calls `use(cell, place)` for every cell of `first.output`, row by row, in parallel if the work
/// is large. `operations` is about how many additions or copies a cell costs.
template <class N, class Use>
void each_cell(const Cell<N>& first, std::size_t operations, const Use& use) {
  const std::size_t rows = first.output->rows();
  const std::size_t columns = first.output->columns();
  constexpr std::size_t rows_at_a_time = 16;
  parallel_for(first.output->matrices() * rows, rows_at_a_time, operations * columns,
               [&](std::size_t line, std::size_t end) {
                 Cell<N> cell = first;
                 for (; line < end; ++line) {
                   cell.matrix = line / rows;
                   cell.row = line % rows;
                   for (cell.column = 0; cell.column < columns; ++cell.column) {
                     use(cell, line * columns + cell.column);
                   }
                 }
               });
}

/// Returns the expression of term(0), term(1), …; a single one stays as it is.
template <class Term>
Expression expression_of(Expression::Kind kind, std::size_t count, const Term& term) {
  const auto terms = mapped_places(count, [&](std::size_t t) -> Expression { return term(t); });
  return terms.size() == 1 ? terms.front() : Expression::of(kind, terms);
}

/// Returns term(0) + term(1) + …, added from left to right; 0 of no terms.
template <class N, class Term>
N sum(std::size_t count, Term term) {
  if constexpr (std::is_same_v<N, Expression>) {
    return count == 0 ? N(0.0) : expression_of(Expression::Kind::sum, count, term);
  } else {
    N total = 0.0;
    for (std::size_t t = 0; t < count; ++t) {
      total = total + term(t);
      if constexpr (std::is_same_v<N, Decimal>) {
        if (!total.is_exact()) break;  // unknown, whatever follows
      }
    }
    return total;
  }
}

/// Returns the axes of a call's result as `output_of` does, or with other leading ones, without
/// values. The same axis name of the form must have the same size in all operands. Throws
/// InputError naming the axis, both sizes and both operands, as in `scores: d_k is 2 in Q (7×2) but
/// 3 in K (7×3)`
Tensor frame_of(const Call& call, const Form& form, std::optional<std::vector<Axis>> leading = {});

/// Returns a tensor with the form's output axes, uninitialised, with the operands' labels. Leading
/// axes broadcast as in NumPy (sizes equal, 1, or missing). Throws InputError as `frame_of`.
Tensor output_of(const Call& call, const Form& form);

/// Returns the two axis names of "query d_k".
std::pair<std::string_view, std::string_view> axis_names(std::string_view matrix);

/// True for `row`, `column` and `inner`: these take the name of the operand's own axis.
bool is_placeholder(std::string_view axis);

/// An intermediate matrix worth showing, such as softmax's exponentials. Its operation, with the
/// step's options, takes the intermediate before it; the first takes the step's operands.
struct Intermediate {
  std::string title;
  const Operation* operation;
  Tensor tensor;
};

/// Cells of one row of a tensor, from column `first` on.
struct RowPart {
  std::size_t matrix = 0;
  std::size_t row = 0;
  std::size_t first = 0;
  std::span<double> cells;
};

/// Computes each row of a result in place of the first operand's: cheaper than fresh memory.
struct InPlaceKernel {
  Tensor frame;  ///< the result's axes, without values
  std::function<void(const RowPart&)> work;
  bool cell_by_cell = false;             ///< cells are independent: a part of a row can be computed
  std::optional<MaskPattern> seen = {};  ///< if known in advance: all other cells become -inf
};

/// The lowest and highest value of each cell of a tensor.
struct Range {
  Tensor low;
  Tensor high;
};

/// Returns the operation's result; lazy, recomputed for each reader, if it is large and cheap.
Tensor result_of(const Operation& operation, const Call& call);

/// Returns `output`, computed cell by cell: fast enough for operations of few additions per cell.
Tensor cell_by_cell(const Call& call, Tensor output, double (*cell)(const Cell<double>&));

}  // namespace qkv::inline ops
