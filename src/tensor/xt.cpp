#include "tensor/xt.hpp"

#include <numeric>

#include "tensor/resources.hpp"

namespace qkv::inline tensor {

void copy_strided(const double* from, const std::array<std::size_t, 4>& sizes,
                  const std::array<std::ptrdiff_t, 4>& steps, std::span<double> to) {
  constexpr std::size_t rows_at_a_time = 64;
  const auto width = static_cast<std::ptrdiff_t>(sizes[3]);
  const auto put_row = [&](std::size_t row) {
    const auto index = [&](std::size_t i, std::size_t axis) {
      return static_cast<std::ptrdiff_t>(i) * steps[axis];
    };
    const double* const first = from + index(row / sizes[2] / sizes[1], 0) +
                                index(row / sizes[2] % sizes[1], 1) + index(row % sizes[2], 2);
    double* const out = to.data() + row * sizes[3];
    if (steps[3] == 1) return static_cast<void>(std::copy_n(first, width, out));
    for (std::ptrdiff_t j = 0; j < width; ++j) out[j] = first[j * steps[3]];
  };
  if (to.empty()) return;
  parallel_for(sizes[0] * sizes[1] * sizes[2], rows_at_a_time, sizes[3],
               [&](std::size_t row, std::size_t end) {
                 for (; row < end; ++row) put_row(row);
               });
}

// Unlike xt::amax, in which a NaN hides the numbers after it and is lost after others: any NaN
// makes the result NaN.
double max_of(std::span<const double> line) {
  const auto unknown = std::ranges::find_if(line, [](double x) { return std::isnan(x); });
  return unknown != line.end() ? *unknown : *std::ranges::max_element(line);
}

Matrix maxima(const Matrix& matrix, Along along) {
  if (along == Along::columns) return xt::transpose(maxima(xt::transpose(matrix)));
  Matrix result = xt::zeros<double>({matrix.shape(0), std::size_t{1}});
  for (std::size_t i = 0; matrix.shape(1) > 0 && i < matrix.shape(0); ++i) {
    result(i, 0) = max_of({&matrix(i, 0), matrix.shape(1)});
  }
  return result;
}

// xtensor's reducer steps back from a null pointer if there are no numbers.
Matrix sums(const Matrix& matrix, Along along) {
  const std::size_t axis = along == Along::rows ? 1 : 0;
  if (matrix.size() > 0) return xt::sum(matrix, {axis}, xt::keep_dims);
  std::array<std::size_t, 2> shape = matrix.shape();
  shape[axis] = 1;
  return xt::zeros<double>(shape);
}

double total(const Matrix& matrix) { return std::accumulate(matrix.begin(), matrix.end(), 0.0); }

}  // namespace qkv::inline tensor
