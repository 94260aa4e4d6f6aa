#pragma once

#include "ops/kinds/formula.hpp"

namespace qkv::inline ops {

/// The row of an operand that holds a cell, or its column if the step runs down the columns.
template <class N>
struct Line {
  OperandMatrix<N> matrix;
  std::size_t index;
  bool down;

  std::size_t size() const { return down ? matrix.rows : matrix.columns; }
  N operator()(std::size_t i) const { return down ? matrix(i, index) : matrix(index, i); }
};

/// The option of every operation that works along lines.
inline constexpr std::string_view line_axes[] = {"rows", "columns"};
inline constexpr OptionRule line_options[] = {
    {.name = "axis",
     .help = "whether it works along each row or each column",
     .list = line_axes,
     .swaps_with_layout = true},
};

/// Returns the form: "each row" or "each column" stands between `before` and `after`.
Form form_of_lines(const Call& call, std::string_view before, std::string_view after);

/// Returns the form of a step along rows, or that along columns if the step runs down them: "row"
/// and "column" change places.
Form along_lines(const Call& call, Form by_rows);

/// True if the step runs down the columns (`axis = "columns"`), not along the rows.
bool is_columnwise(const Call& call);

/// The same, as formulas take it.
inline Along along_of(const Call& call) {
  return is_columnwise(call) ? Along::columns : Along::rows;
}
inline Along along_of(const Operands& of) { return along_of(*of.at().call); }

/// Returns the line of operand `k` that holds the cell.
template <class N>
Line<N> line_of(const Cell<N>& cell, std::size_t k = 0) {
  const bool down = is_columnwise(*cell.call);
  return {cell(k), down ? cell.column : cell.row, down};
}

/// Returns the cell's index in its line.
template <class N>
std::size_t index_in_line(const Cell<N>& cell) {
  return is_columnwise(*cell.call) ? cell.row : cell.column;
}

/// Returns the value as a double; NaN if it is not exact.
inline double as_double(double x) { return x; }
inline double as_double(const Expression& x) { return x.value(); }
inline double as_double(const Decimal& x) { return x.value(); }

/// Returns x / total; 0 if both are 0, NaN if the total is infinite, since no share of it is known.
double share(double x, double total);

/// True if the first operand's number for the cell is not `nothing` and all others of its line are
/// known to be. The result is then exact, however that number was rounded.
bool is_alone(const Cell<Decimal>& cell, double nothing);

/// Returns each number divided by the sum of its row or column.
Matrix shares(const Matrix& numbers, Along along);

/// Returns the matrix with 0 in place of infinities.
Matrix finite(const Matrix& numbers);

bool has_zeros(const Tensor& numbers);

/// Returns the range of a step line by line: `cells_of_line(c)` returns a function for the interval
/// of each cell of c's line.
template <class CellsOfLine>
Range range_by_lines(const Call& call, std::span<const Bounds> operands, const Tensor& result,
                     const CellsOfLine& cells_of_line) {
  Range range{uninitialised(result.axes), uninitialised(result.axes)};
  const bool down = is_columnwise(call);
  const std::size_t lines = down ? result.columns() : result.rows();
  const std::size_t length = down ? result.rows() : result.columns();
  const std::span<double> lows = range.low.values.mutable_span();
  const std::span<double> highs = range.high.values.mutable_span();
  parallel_for(result.matrices() * lines, 1, length * length, [&](std::size_t l, std::size_t end) {
    Cell<Interval> c{{.call = &call, .output = &result}, operands};
    std::size_t& index = down ? c.row : c.column;
    for (; l < end; ++l) {
      c.matrix = l / lines;
      (down ? c.column : c.row) = l % lines;
      index = 0;
      const auto cell_of = cells_of_line(c);
      for (; index < length; ++index) {
        const std::size_t i = result.index(c.matrix, c.row, c.column);
        const Interval cell = cell_of(c);
        lows[i] = cell.low;
        highs[i] = cell.high;
      }
    }
  });
  return range;
}

template <class Maths>
std::optional<Range> range_of_lines(const Call& call, std::span<const Bounds> operands,
                                    const Tensor& result) {
  return range_by_lines(call, operands, result, Maths::cells_of_line);
}

template <class N>
std::vector<N> numbers_of(const Line<N>& line) {
  return mapped_places(line.size(), line);
}

/// Returns for each number of a line what `combine` makes of all others, from `none` on. Nothing is
/// taken away again, so nothing cancels.
template <class Combine>
std::vector<Interval> of_others(const std::vector<Interval>& line, Interval none, Combine combine) {
  std::vector<Interval> others(line.size(), none);
  Interval before = none;
  Interval after = none;
  for (std::size_t j = 0, last = line.size() - 1; j < line.size(); ++j) {
    others[j] = combine(others[j], std::exchange(before, combine(before, line[j])));
    others[last - j] =
        combine(others[last - j], std::exchange(after, combine(after, line[last - j])));
  }
  return others;
}

/// Returns the largest number of a line. An Expression is the cell that holds it; an Interval spans
/// the largest lower and the largest upper bound.
template <class N>
N largest(const Line<N>& line) {
  if constexpr (std::is_same_v<N, Expression>) {
    using Chosen = CellPlace::Chosen;
    double top = line(0).value();
    std::size_t at = 0;
    for (std::size_t i = 1; i < line.size(); ++i) {
      const double next = line(i).value();
      if (next > top) at = i;
      top = std::max(top, next);
    }
    return Expression::of_cell(
        {.operand = line.matrix.operand,
         .matrix = line.matrix.matrix,
         .row = line.down ? at : line.index,
         .column = line.down ? line.index : at,
         .chosen = line.down ? Chosen::largest_of_column : Chosen::largest_of_row},
        top);
  } else {
    return nan_max_of<N>(line.size(), line);
  }
}

/// Returns the gradient of max(own, other) to `own`: `change` if it is the larger, 0 if the
/// smaller, half of `change` if both are equal.
template <class N>
N max_backward(const N& change, const N& own, const N& other) {
  if constexpr (std::is_same_v<N, Interval>) {
    if (own.low > other.high) return change;
    return own.high < other.low ? Interval(0.0) : hull(0.0, change);
  } else {
    const double x = as_double(own);
    const double y = as_double(other);
    if (std::isnan(x) || std::isnan(y)) return x + y;  // NaN: the larger is unknown
    return x > y ? change : x < y ? N(0.0) : change / N(2.0);
  }
}

/// Returns for each number of a line the range of the largest of all others.
inline std::vector<Interval> largest_of_others(const Line<Interval>& line) {
  return of_others(numbers_of(line), -infinity,
                   [](Interval a, Interval b) { return nan_max(a, b); });
}

/// Returns the lower bounds of a line's numbers, or the upper ones.
inline std::vector<double> bounds_of(const Line<Interval>& line, bool high) {
  return mapped_places(line.size(),
                       [&](std::size_t j) { return high ? line(j).high : line(j).low; });
}

/// Returns the gradient of a line's maximum to its number `i`: `change`, shared equally among equal
/// maxima.
template <class N>
N line_max_backward(const N& change, const Line<N>& line, std::size_t i) {
  if constexpr (std::is_same_v<N, Interval>) {
    return max_backward(change, line(i), largest_of_others(line)[i]);
  } else {
    double as_large = 1;
    const double own = as_double(line(i));
    for (std::size_t j = 0; j < line.size(); ++j) {
      if (j == i) continue;
      const double other = as_double(line(j));
      if (std::isnan(own) || std::isnan(other)) return own + other;
      if (other > own) return 0.0;
      as_large += other == own ? 1 : 0;
    }
    return as_large == 1 ? change : change / N(as_large);
  }
}

}  // namespace qkv::inline ops
