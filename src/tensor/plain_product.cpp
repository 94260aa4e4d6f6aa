#include "tensor/matmul.hpp"

namespace qkv::inline tensor {
namespace {

// Products of one row with `count` rows. Each sum waits for its last addition, so several at a time
// cost no more than one.
template <std::size_t count>
void multiply_row_with(const double* row, const double* b, double* out, std::size_t inner) {
  std::array<double, count> sums = {};
  for (std::size_t k = 0; k < inner; ++k) {
    for (std::size_t j = 0; j < count; ++j) sums[j] += row[k] * b[j * inner + k];
  }
  std::ranges::copy(sums, out);
}

}  // namespace

void multiply_in_order(const double* a, const double* b, double* out, ProductSize size) {
  for (std::size_t i = 0; i < size.rows; ++i) {
    double* row = out + i * size.columns;
    std::fill(row, row + size.columns, 0.0);
    for (std::size_t k = 0; k < size.inner; ++k) {
      const double left = a[i * size.inner + k];
      const double* right = b + k * size.columns;
      for (std::size_t j = 0; j < size.columns; ++j) row[j] += left * right[j];
    }
  }
}

void multiply_transposed_in_order(const double* a, const double* b, double* out, ProductSize size) {
  constexpr std::size_t at_a_time = 8;
  for (std::size_t i = 0; i < size.rows; ++i) {
    const double* const row = a + i * size.inner;
    double* const results = out + i * size.columns;
    std::size_t j = 0;
    for (; j + at_a_time <= size.columns; j += at_a_time) {
      multiply_row_with<at_a_time>(row, b + j * size.inner, results + j, size.inner);
    }
    for (; j < size.columns; ++j) {
      multiply_row_with<1>(row, b + j * size.inner, results + j, size.inner);
    }
  }
}

}  // namespace qkv::inline tensor
