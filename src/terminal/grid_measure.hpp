#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "exposition/selection.hpp"
#include "text/number.hpp"

namespace qkv {

/// The numbers of one row. Rows that don't show are not asked for where the matrix is large.
using RowAt = std::function<std::span<const double>(std::size_t row)>;

/// What the shades and the decimals of a matrix depend on: all of its numbers or, of more than a
/// lesson has, those that show. Who shows one part of a large matrix after another takes the
/// measure of all once, so that every part looks the same.
struct GridMeasure {
  NumberStyle style = {};
  double largest = 0;
  bool has_negative = false;
};
GridMeasure measured(std::span<const double> values, int digits);

/// That of a matrix of which these rows show.
GridMeasure measured(std::size_t rows, std::size_t columns, const RowAt& row_at,
                     const Selection& shown, int digits);

}  // namespace qkv
