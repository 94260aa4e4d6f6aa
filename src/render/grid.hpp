#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "render/number.hpp"

namespace qkv {

/// How a matrix is to look.
struct GridLook {
  std::size_t width = 80;      ///< columns of the terminal
  int digits = 4;              ///< decimals of a number that is not whole
  bool colour = false;         ///< shade each number by its size
  std::size_t most_rows = 24;  ///< lines of numbers; a matrix of more rows loses its middle
};

/// What the rows and columns are called, as it came from a file: the grid makes it safe to show.
/// Where a label is missing or empty, the index from 1 stands for it.
struct GridLabels {
  std::vector<std::string> rows = {}, columns = {};
  std::string corner = {};  ///< stands over the row labels
};

/// A matrix as lines of text, and what of it the lines leave out.
struct Grid {
  std::string text;  ///< whole lines, each with its line break
  std::size_t hidden_rows = 0, hidden_columns = 0;
  /// The index, from 1, of the first one hidden; 0 where none is.
  std::size_t first_hidden_row = 0, first_hidden_column = 0;
  bool shortened_labels = false;  ///< a shown label ends in `…`
  NumberStyle style = {};
};

/// Shows one row-major matrix of `rows` × `columns`, numbers aligned at the decimal point. A matrix
/// that is too wide shows its first and last columns around a `…`, one that is too long its first
/// and last rows around a `⋮`. Only what is shown is formatted, so size costs nothing but the
/// search for the style. With colour, white to blue shows how large a number is; where there are
/// negative ones, blue is below and brown above zero. Throws std::logic_error where `values` has
/// another size.
///
///       cat  fat
///     1   2    0
///     2   0   -1
Grid grid(std::size_t rows, std::size_t columns, std::span<const double> values,
          const GridLabels& labels, const GridLook& look);

}  // namespace qkv
