#include "lesson/generate/new_numbers.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

namespace qkv {
namespace {

// A row of nothing but zeros would hide every slip in what it is multiplied by.
void fill_empty_rows(std::span<double> cells, std::size_t columns) {
  for (std::size_t i = 0; i < cells.size() / columns; ++i) {
    const std::span<double> row = cells.subspan(i * columns, columns);
    if (std::ranges::all_of(row, [](double x) { return x == 0; })) row[i % columns] = 1;
  }
}

}  // namespace

Tensor drawn_weight(const Shape& shape, Dice& dice) {
  constexpr std::array<double, 4> likely = {-1, 1, 1, 2};
  Tensor tensor = tensor_of(shape, std::vector<double>(count_of(shape, "a weight")));
  for (std::size_t m = 0; m < tensor.matrices(); ++m) {
    const std::span<double> cells = tensor.write_cells(m);
    for (std::size_t j = 0; j < tensor.columns(); ++j) {
      const std::size_t terms = 2 + dice.below(2);
      for (std::size_t t = 0; t < terms; ++t) {
        cells[dice.below(tensor.rows()) * tensor.columns() + j] = dice.pick(likely);
      }
    }
    fill_empty_rows(cells, tensor.columns());
  }
  return tensor;
}

bool has_equal_rows(const Tensor& tensor) {
  const std::size_t columns = tensor.columns();
  for (std::size_t i = 0; i < tensor.rows(); ++i) {
    const auto row = tensor.cells(0).subspan(i * columns, columns);
    for (std::size_t k = 0; k < i; ++k) {
      if (std::ranges::equal(row, tensor.cells(0).subspan(k * columns, columns))) return true;
    }
  }
  return false;
}

std::size_t zero_rows(const Tensor& tensor) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < tensor.values.size(); i += tensor.columns()) {
    const auto row = std::span(tensor.values).subspan(i, tensor.columns());
    if (std::ranges::all_of(row, [](double x) { return x == 0; })) ++count;
  }
  return count;
}

std::size_t equal_pairs(const Tensor& tensor) {
  constexpr double nearly = 1e-9;
  std::size_t count = 0;
  for (std::size_t m = 0; m < tensor.matrices(); ++m) {
    for (std::size_t j = 0; j < tensor.columns(); ++j) {
      for (std::size_t i = 1; i < tensor.rows(); ++i) {
        for (std::size_t k = 0; k < i; ++k) {
          count += std::abs(tensor.at(m, i, j) - tensor.at(m, k, j)) < nearly ? 1 : 0;
        }
      }
    }
  }
  return count;
}

std::size_t larger_than(const Tensor& tensor, double largest) {
  return static_cast<std::size_t>(std::ranges::count_if(
      tensor.values, [&](double value) { return std::abs(value) > largest; }));
}

std::size_t lopsided_weights(const Tensor& weights) {
  constexpr double nearly_all = 0.985;
  constexpr double nearly_nothing = 0.002;
  return static_cast<std::size_t>(std::ranges::count_if(weights.values, [&](double weight) {
    return (weight > nearly_all && weight < 1) || (weight > 0 && weight < nearly_nothing);
  }));
}

}  // namespace qkv
