#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "terminal/grid.hpp"

namespace qkv {

/// Blanks before each line, and before each column.
inline constexpr std::size_t grid_indent = 2;
inline constexpr std::size_t grid_gap = 2;

/// A column ready to be printed: its header, and its cells filled so that their points align.
struct GridColumn {
  std::string header;
  std::vector<std::string> cells;
  std::size_t width = 0;
  std::size_t tail = 0;  ///< columns of the screen from the decimal point on
};

/// A matrix on its way to becoming lines, and what the caller wishes.
struct GridSheet {
  std::size_t rows, columns;
  const RowAt& row_at;
  const GridLabels& labels;
  const GridLook& look;
  GridMeasure measure;
  Selection shown_rows;
  mutable std::map<std::size_t, GridColumn> columns_made = {};

  double value(std::size_t row, std::size_t column) const { return row_at(row)[column]; }
};

/// What all columns leave of the line.
std::size_t room_beside_all_columns(const GridSheet& sheet);

/// The columns that fit, from both ends inwards.
struct FittingColumns {
  Selection selection;
  std::vector<const GridColumn*> columns;  // the sheet's
};

/// The first and the last column in any case, and as many from both ends as there is room for.
FittingColumns fitting_columns(const GridSheet& sheet, std::size_t room);

/// As many on both sides of the focus as there is room for.
FittingColumns columns_around(const GridSheet& sheet, std::size_t focus, std::size_t room);

/// The column of labels on the left of the numbers.
struct GridRowLabels {
  std::vector<std::string> texts;
  std::string hidden = "⋮";
  std::size_t width = 0;
};

/// Words stand on the left, indices on the right as numbers do. The labels are as long as they like
/// where every column fits beside them. Else they give way to the two columns that must show, down
/// to a few letters.
GridRowLabels row_labels_of(const GridSheet& sheet);

}  // namespace qkv
