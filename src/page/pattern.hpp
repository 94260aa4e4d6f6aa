#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace qkv {

/// Which cell of a tensor: its matrix, row and column, and the place of each among those shown
/// (where a large matrix loses its middle, row 504 is in place 8).
struct ShownCell {
  std::array<std::size_t, 3> index = {};
  std::array<std::size_t, 3> place = {};
};

/// How a number changes from cell to cell, in few words: `linear[0] + linear[1]·matrix +
/// linear[2]·row + linear[3]·column`; or, where that is not so, a table by as few of the three as
/// will do.
struct Pattern {
  std::array<double, 4> linear = {};
  unsigned by = 0;            ///< 1 matrix, 2 row, 4 column, added up; 0: the linear form holds
  std::vector<double> table;  ///< by the places of those, the column's fastest

  bool operator==(const Pattern&) const = default;
  bool is_same_everywhere() const;
};

/// The pattern that gives exactly `values[i]` for each `cells[i]`. `extents`: how many matrices,
/// rows and columns are shown. Always finds one, at worst a table by all three.
Pattern pattern_of(std::span<const double> values, std::span<const ShownCell> cells,
                   const std::array<std::size_t, 3>& extents);

/// What the pattern says of a cell.
double value_at(const Pattern& pattern, const ShownCell& cell,
                const std::array<std::size_t, 3>& extents);

}  // namespace qkv
