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

/// Returns the numbers of a row; for a large matrix, called only for shown rows.
using RowAt = std::function<std::span<const double>(std::size_t row)>;

/// Number format and colour range of a matrix: from all of its numbers or, if it is large, from the
/// shown ones. Compute it once for several views of a large matrix, so that all look the same.
struct NumberFormat {
  NumberStyle style = {};
  double largest = 0;
  bool has_negative = false;
};
NumberFormat number_format_of(std::span<const double> values, int digits);

/// Returns the number format of a matrix of which the rows `shown` are displayed.
NumberFormat number_format_of(std::size_t rows, std::size_t columns, const RowAt& row_at,
                              const Selection& shown, int digits);

/// Highlight of a cell. Each has its own signs around the number, not only a colour.
enum class Highlight {
  none,
  changed,  ///< `*0.25`
  used,     ///< `(0.25)`
  picked,   ///< `[0.25]`
};

/// A cell that must be visible, with consecutive rows and columns around it.
struct GridFocus {
  std::size_t row = 0, column = 0;
};

/// Options of a grid.
struct GridStyle {
  std::size_t width = 80;     ///< columns of the terminal
  int digits = 4;             ///< decimals of a number that is not an integer
  bool colour = false;        ///< shade each number by its size
  std::size_t max_rows = 24;  ///< lines of numbers; larger matrices lose their middle rows
  std::optional<GridFocus> focus = {};
  std::function<Highlight(std::size_t row, std::size_t column)> highlight =
      {};                                 ///< none where empty
  const NumberFormat* measure = nullptr;  ///< of these values and digits; nullptr: computed here
};

/// The labels of rows and columns, not sanitised; a missing or empty one is its index from 1.
struct GridLabels {
  std::vector<std::string> rows = {}, columns = {};
};

/// A matrix as lines of text, and the rows and columns shown.
struct Grid {
  std::string text;  ///< whole lines, each with its line break
  Selection rows = {}, columns = {};
};

/// Formats a row-major matrix of `rows` × `columns` with aligned decimal points. If it is too wide,
/// the first and last columns show around a `…`; if too long, the first and last rows around a `⋮`.
/// Only shown numbers are formatted, so size costs nothing. With a focus, only the cells around it
/// show. With colour, white to blue shows a number's size; with negative numbers, blue is below and
/// brown above zero.
///
///       cat  fat
///     1   2    0
///     2   0   -1
Grid grid(std::size_t rows, std::size_t columns, const RowAt& row_at, const GridLabels& labels,
          const GridStyle& look);

/// Formats values in memory. Throws std::logic_error if their number does not match.
Grid grid(std::size_t rows, std::size_t columns, std::span<const double> values,
          const GridLabels& labels, const GridStyle& look);

}  // namespace qkv::inline terminal
