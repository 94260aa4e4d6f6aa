#include "terminal/grid_measure.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "tensor/parallel.hpp"
#include "tensor/row_kernels.hpp"

namespace qkv {

GridMeasure measured(std::span<const double> values, int digits) {
  const auto is_negative = [](double value) { return value < 0 && std::isfinite(value); };
  const double largest = largest_magnitude(values);
  return {.style = style_for(values, digits, largest),
          .largest = largest,
          .has_negative = std::any_of(values.begin(), values.end(), is_negative)};
}

GridMeasure measured(std::size_t rows, std::size_t columns, const RowAt& row_at,
                     const Selection& shown, int digits) {
  const bool all = rows * columns <= teaching_numbers;
  const std::size_t count = all ? rows : shown.shown();
  std::vector<double> numbers;
  numbers.reserve(count * columns);
  for (std::size_t place = 0; place < count; ++place) {
    const std::span<const double> row = row_at(all ? place : shown[place]);
    numbers.insert(numbers.end(), row.begin(), row.end());
  }
  return measured(numbers, digits);
}

}  // namespace qkv
