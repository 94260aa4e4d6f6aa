#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "tensor/one_processor.hpp"

namespace tensor_processors_tests {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

using Row = std::vector<double>;

/// What tells apart numbers that compare as equal, and NaNs.
std::vector<std::uint64_t> bits(const Row& row) {
  std::vector<std::uint64_t> found;
  for (const double x : row) found.push_back(std::bit_cast<std::uint64_t>(x));
  return found;
}

/// Rows of every length up to some vectors' widths and of long ones, of small and of large numbers.
std::vector<Row> rows() {
  std::vector<Row> made = {
      {}, {0.0, -0.0}, {-infinity, 1, -infinity}, {5e-324, 2e-308, -1e308, 1e308}};
  std::mt19937_64 random(1);
  for (std::size_t size = 1; size < 700; size += size < 40 ? 1 : 97) {
    for (const double width : {1e-3, 1.0, 30.0, 800.0}) {
      Row row(size);
      for (double& x : row) x = width * (static_cast<double>(random() >> 11) / 0x1p52 - 1);
      made.push_back(row);
    }
  }
  return made;
}

/// The same rows with what is not finite somewhere in them.
std::vector<Row> broken_rows() {
  std::vector<Row> made = rows();
  for (std::size_t r = 1; r < made.size(); ++r) {
    made[r][r % made[r].size()] = r % 3 == 0 ? std::nan("") : r % 3 == 1 ? infinity : -infinity;
  }
  return made;
}

const RowKernels& plain() { return row_kernels_of_each_processor().front(); }

}  // namespace

TEST_CASE("softmax of a row has the same bits on each processor") {
  for (const RowKernels& kernels : row_kernels_of_each_processor()) {
    INFO(kernels.processor);
    if (!kernels.runs_here) continue;
    for (const Row& row : rows()) {
      Row expected(row.size()), weights(row.size());
      CHECK(kernels.softmax_row(row, weights) == plain().softmax_row(row, expected));
      CHECK(bits(weights) == bits(expected));
    }
  }
}

TEST_CASE("tanh of a row has the same bits on each processor") {
  for (const RowKernels& kernels : row_kernels_of_each_processor()) {
    INFO(kernels.processor);
    if (!kernels.runs_here) continue;
    for (const Row& row : rows()) {
      Row expected = row, found = row;
      plain().tanh_row(expected);
      kernels.tanh_row(found);
      CHECK(bits(found) == bits(expected));
    }
  }
}

TEST_CASE("each processor finds the same infinities, NaNs and largest magnitudes") {
  for (const RowKernels& kernels : row_kernels_of_each_processor()) {
    INFO(kernels.processor);
    if (!kernels.runs_here) continue;
    for (const auto& some : {rows(), broken_rows()}) {
      for (const Row& row : some) {
        CHECK(kernels.all_finite(row) == plain().all_finite(row));
        CHECK(kernels.has_nan(row) == plain().has_nan(row));
        CHECK(bits({kernels.largest_magnitude(row)}) == bits({plain().largest_magnitude(row)}));
      }
    }
  }
}

}  // namespace tensor_processors_tests
