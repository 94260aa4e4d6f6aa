#pragma once

#include <span>
#include <vector>

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

/// Fills `output` with `kernel(line of the first operand, line of the result)` for every line.
Tensor line_by_line(const Call& call, Tensor output,
                    void (*kernel)(std::span<const double>, std::span<double>));

/// The bounds of one line of an operand, and where the bounds of the result's line go.
struct LineBounds {
  std::span<const double> low, high;
  std::span<double> result_low, result_high;
};

/// Fills a range with `kernel` for every line of the first operand.
Range range_by_line(const Call& call, const Bounds& operand, const Tensor& result,
                    void (*kernel)(const LineBounds&));

/// For each number of a line the sum of all the others, without subtracting: nothing cancels.
std::vector<double> sums_of_others(std::span<const double> line);

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
  } else {
    double top = line(0);
    for (std::size_t i = 1; i < line.size(); ++i) top = std::max(top, line(i));
    return top;
  }
}

}  // namespace qkv
