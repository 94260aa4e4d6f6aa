#pragma once

#include <functional>

#include "ops/operation.hpp"

namespace qkv {

/// The row of an operand that a cell is in, or its column where the step goes down the columns.
template <class N>
struct Line {
  MatrixOf<N> matrix;
  std::size_t index;
  bool down;

  std::size_t size() const { return down ? matrix.rows : matrix.columns; }
  N operator()(std::size_t i) const { return down ? matrix(i, index) : matrix(index, i); }
};

/// The option of every operation that works along a line.
inline constexpr std::string_view line_axes[] = {"rows", "columns"};
inline constexpr OptionRule line_options[] = {
    {.name = "axis",
     .says = "whether each row or each column is worked by itself",
     .list = line_axes,
     .turns = OptionRule::Turns::with_convention},
};

/// Whether the step goes down the columns (`axis = "columns"`) instead of along the rows.
bool goes_down(const Call& call);

/// The same for a formula.
inline Along along_of(const Call& call) { return goes_down(call) ? Along::columns : Along::rows; }

/// The line of the first operand that holds the cell.
template <class N>
Line<N> line_of(const Cell<N>& cell) {
  const bool down = goes_down(*cell.call);
  return {cell(0), down ? cell.column : cell.row, down};
}

/// Where in its line the cell is.
template <class N>
std::size_t place_in_line(const Cell<N>& cell) {
  return goes_down(*cell.call) ? cell.row : cell.column;
}

/// x / total, as shares have it: nothing of nothing is nothing, and of a total that is too large
/// for a double no share is known.
double share(double x, double total);

/// Whether the first operand's number in the cell's place is not `nothing`, and all others of its
/// line are known to be: then there is nothing to round, whatever it was rounded to itself.
bool is_alone(const Cell<Decimal>& cell, double nothing);

/// Each number divided by the sum of its row or column.
Matrix shares(const Matrix& numbers, Along along);

/// The matrix with 0 where it is infinite.
Matrix finite(const Matrix& numbers);

/// The lowest and highest values of a matrix.
struct MatrixRange {
  Matrix low, high;
};

/// The range of a step from that of its first operand, matrix by matrix.
Range range_by_matrix(const Bounds& operand, const Tensor& result,
                      const std::function<MatrixRange(const MatrixRange&)>& formula);

/// For each number the sum of all others in its row or column, without subtracting: nothing
/// cancels.
Matrix sums_of_others(const Matrix& matrix, Along along);

/// The largest number of a line (as a term: the cell that holds it). In intervals: of the lowest
/// and of the highest values.
template <class N>
N largest(const Line<N>& line) {
  if constexpr (std::is_same_v<N, Expression>) {
    N top = line(0);
    for (std::size_t i = 1; i < line.size(); ++i) {
      if (line(i).value() > top.value()) top = line(i);
    }
    return top;
  } else if constexpr (std::is_same_v<N, Interval>) {
    Interval top = line(0);
    for (std::size_t i = 1; i < line.size(); ++i) {
      top = {std::max(top.low, line(i).low), std::max(top.high, line(i).high)};
    }
    return top;
  } else if constexpr (std::is_same_v<N, Decimal>) {  // one that is not known may be the largest
    Decimal top = line(0);
    for (std::size_t i = 1; i < line.size(); ++i) {
      const Decimal next = line(i);
      if (!next.is_exact() || (top.is_exact() && next.value() > top.value())) top = next;
    }
    return top;
  } else {
    double top = line(0);
    for (std::size_t i = 1; i < line.size(); ++i) top = std::max(top, line(i));
    return top;
  }
}

}  // namespace qkv
