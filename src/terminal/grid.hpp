#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "exposition/selection.hpp"
#include "text/number.hpp"

namespace qkv::inline terminal {

/// The numbers of one row. Rows that don't show are not asked for where the matrix is large.
using RowAt = std::function<std::span<const double>(std::size_t row)>;

/// What the shades and the decimals of a matrix depend on: all of its numbers or, of more than a
/// lesson has, those that show. Who shows one part of a large matrix after another takes the
/// measure of all once, so that every part looks the same.
struct NumberFormat {
  NumberStyle style = {};
  double largest = 0;
  bool has_negative = false;
};
NumberFormat number_format_of(std::span<const double> values, int digits);

/// That of a matrix of which these rows show.
NumberFormat number_format_of(std::size_t rows, std::size_t columns, const RowAt& row_at,
                              const Selection& shown, int digits);

/// What sets a cell apart from its neighbours. Each has signs of its own beside the number, so that
/// none is told by colour alone.
enum class Highlight {
  none,
  changed,  ///< `*0.25`
  used,     ///< `(0.25)`
  picked,   ///< `[0.25]`
};

/// A cell that must be seen: the rows and columns around it show, without a break.
struct GridFocus {
  std::size_t row = 0, column = 0;
};

/// How a matrix is to look.
struct GridStyle {
  std::size_t width = 80;     ///< columns of the terminal
  int digits = 4;             ///< decimals of a number that is not whole
  bool colour = false;        ///< shade each number by its size
  std::size_t max_rows = 24;  ///< lines of numbers; a matrix of more rows loses its middle
  std::optional<GridFocus> focus = {};
  std::function<Highlight(std::size_t row, std::size_t column)> highlight =
      {};                                 ///< none where empty
  const NumberFormat* measure = nullptr;  ///< of these values and digits; taken anew where missing
};

/// What the rows and columns are called, as it came from a file: the grid makes it safe to show.
/// Where a label is missing or empty, the index from 1 stands for it.
struct GridLabels {
  std::vector<std::string> rows = {}, columns = {};
};

/// A matrix as lines of text, and which of its rows and columns they show.
struct Grid {
  std::string text;  ///< whole lines, each with its line break
  Selection rows = {}, columns = {};
};

/// Shows one row-major matrix of `rows` × `columns`, numbers aligned at the decimal point. A matrix
/// that is too wide shows its first and last columns around a `…`, one that is too long its first
/// and last rows around a `⋮`. Only what is shown is formatted, so size costs nothing. With a
/// focus, only what is around that cell shows. With colour, white to blue shows how large a number
/// is; where there are negative ones, blue is below and brown above zero.
///
///       cat  fat
///     1   2    0
///     2   0   -1
Grid grid(std::size_t rows, std::size_t columns, const RowAt& row_at, const GridLabels& labels,
          const GridStyle& look);

/// The same of numbers that are all there. Throws std::logic_error where they have another size.
Grid grid(std::size_t rows, std::size_t columns, std::span<const double> values,
          const GridLabels& labels, const GridStyle& look);

}  // namespace qkv::inline terminal
