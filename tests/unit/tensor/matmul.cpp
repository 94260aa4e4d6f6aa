#include "tensor/matmul.hpp"

#include <catch2/catch.hpp>
#include <vector>

namespace tensor_matmul_tests {

using namespace qkv;
using Numbers = std::vector<double>;

namespace {

// Small whole numbers: sums of their products are exact, in whatever order they are added.
double left(std::size_t row, std::size_t k) { return static_cast<double>((3 * row + k) % 7) - 3; }
double right(std::size_t k, std::size_t column) {
  return static_cast<double>((5 * k + 2 * column) % 11) - 5;
}

Numbers matrix(std::size_t rows, std::size_t columns, double (*cell)(std::size_t, std::size_t)) {
  Numbers cells;
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) cells.push_back(cell(i, j));
  }
  return cells;
}

Numbers product(const ProductSize& size) {
  Numbers cells;
  for (std::size_t i = 0; i < size.rows; ++i) {
    for (std::size_t j = 0; j < size.columns; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < size.inner; ++k) sum += left(i, k) * right(k, j);
      cells.push_back(sum);
    }
  }
  return cells;
}

// Beyond 2^20 numbers, so that they come in several pieces.
constexpr ProductSize large{.rows = 3, .inner = 1500, .columns = 800};

}  // namespace

TEST_CASE("a product with numbers made a piece at a time has all their terms") {
  const Values made = Values::lazy(
      large.inner * large.columns, large.columns, [](std::size_t line, std::span<double> cells) {
        for (std::size_t j = 0; j < cells.size(); ++j)
          cells[j] = right(line + j / large.columns, j % large.columns);
      });
  Numbers out(large.rows * large.columns, 99);
  multiply(matrix(large.rows, large.inner, left), made, 0, out, large, RightSide::as_is);
  CHECK(out == product(large));
}

TEST_CASE("a product with the transpose of numbers made a piece at a time has all columns") {
  const Values made = Values::lazy(large.inner * large.columns, large.inner,
                                   [](std::size_t line, std::span<double> cells) {
                                     for (std::size_t k = 0; k < cells.size(); ++k)
                                       cells[k] = right(k % large.inner, line + k / large.inner);
                                   });
  Numbers out(large.rows * large.columns, 99);
  multiply(matrix(large.rows, large.inner, left), made, 0, out, large, RightSide::transposed);
  CHECK(out == product(large));
}

TEST_CASE("the second of two matrices is multiplied with, whether it is held or made") {
  constexpr ProductSize size{.rows = 40, .inner = 90, .columns = 80};  // beyond teaching size
  Numbers both(size.inner * size.columns, 1000);
  const Numbers second = matrix(size.inner, size.columns, right);
  both.insert(both.end(), second.begin(), second.end());
  const Values held = both;
  const Values made = Values::lazy(held, size.columns, [](std::size_t, std::span<double>) {});
  for (const Values* numbers : {&held, &made}) {
    Numbers out(size.rows * size.columns, 99);
    multiply(matrix(size.rows, size.inner, left), *numbers, second.size(), out, size,
             RightSide::as_is);
    CHECK(out == product(size));
  }
}

}  // namespace tensor_matmul_tests
