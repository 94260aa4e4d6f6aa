#include "tensor/matmul.hpp"

#include <cblas.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <stdexcept>

#include "tensor/error.hpp"
#include "tensor/parallel.hpp"

namespace qkv {
namespace {

// Up to here the plain loop costs less than a person notices, and its order of addition is fixed.
constexpr std::size_t teaching_size = 64 * 64 * 64;

// OpenBLAS 0.3.21 takes a processor that is newer than itself for one of 2004 and is then five
// times slower than it could be. What the processor can do decides here, unless the user has; it
// has to be said before the library starts, hence the place among the first things that a program
// runs.
void choose_kernels() {
  __builtin_cpu_init();
  const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  const bool fused = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const char* kernels = wide ? "SkylakeX" : fused ? "Haswell" : nullptr;
  if (kernels) setenv("OPENBLAS_CORETYPE", kernels, 0);
  setenv("OPENBLAS_NUM_THREADS", "1", 1);  // no pool to start: whole blocks of rows are shared out
}
[[gnu::section(".preinit_array"),
  gnu::used]] void (*const before_libraries_start)() = choose_kernels;

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
  for (std::size_t i = 0; i < size.rows; ++i) {
    for (std::size_t j = 0; j < size.columns; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < size.inner; ++k) {
        sum += a[i * size.inner + k] * b[j * size.inner + k];
      }
      out[i * size.columns + j] = sum;
    }
  }
}

// BLAS counts in int.
bool fits_blas(ProductSize size) {
  return std::max({size.rows, size.inner, size.columns}) <=
         static_cast<std::size_t>(std::numeric_limits<int>::max());
}

// How far it is from one row of a matrix to the next.
struct RowSteps {
  std::size_t a, b, out;
};

enum class Sum { new_one, goes_on };

void multiply_with_blas(const double* a, const double* b, double* out, ProductSize size,
                        RightSide right, RowSteps steps, Sum sum = Sum::new_one) {
  const auto in_blas = [](std::size_t number) { return static_cast<int>(number); };
  cblas_dgemm(CblasRowMajor, CblasNoTrans,
              right == RightSide::transposed ? CblasTrans : CblasNoTrans, in_blas(size.rows),
              in_blas(size.columns), in_blas(size.inner), 1.0, a, in_blas(steps.a), b,
              in_blas(steps.b), sum == Sum::new_one ? 0.0 : 1.0, out, in_blas(steps.out));
}

// OpenBLAS maps a buffer for each thread that calls it, and where the system gives none it asks
// again, for ever: so the system is asked first.
void refuse_without_buffers() {
  constexpr std::size_t buffer = std::size_t{128} << 20;
  constexpr std::size_t beside = std::size_t{32} << 20;  // stacks, tables
  const std::size_t size = most_threads() * buffer + beside;
  void* const room =
      mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) {
    throw InputError(
        fmt::format("large products need {} MiB of address space more than there is left; raise "
                    "ulimit -v, or take fewer --threads",
                    size >> 20U));
  }
  munmap(room, size);
}

// Throws InputError where BLAS could not work.
void get_blas_ready() {
  static const bool one_thread = [] {
    refuse_without_buffers();
    openblas_set_num_threads(1);  // where it is linked dynamically, the environment came too late
    return true;
  }();
  static_cast<void>(one_thread);
}

// The blocks are the same for any number of threads, and so is each sum.
constexpr std::size_t block_of_product = 256;
constexpr std::size_t products_a_copy = 8;  // what BLAS does in the time of one plain operation

void multiply_in_blocks(const double* a, const double* b, double* out, ProductSize size,
                        RightSide right) {
  get_blas_ready();
  const std::size_t b_step = right == RightSide::transposed ? size.inner : size.columns;
  in_blocks(size.rows, block_of_product, size.inner * size.columns / products_a_copy,
            [&](std::size_t begin, std::size_t end) {
              multiply_with_blas(a + begin * size.inner, b, out + begin * size.columns,
                                 {end - begin, size.inner, size.columns}, right,
                                 {size.inner, b_step, size.columns});
            });
}

// With some rows of b that follow `done` others: all terms of some of the product's columns, or,
// where b is as it stands, some terms of all of them.
void multiply_piece(const double* a, std::span<const double> b, std::size_t done, double* out,
                    ProductSize size, RightSide right) {
  const bool turned = right == RightSide::transposed;
  const std::size_t b_step = turned ? size.inner : size.columns;
  const RowSteps steps{size.inner, b_step, size.columns};
  const std::size_t lines = b.size() / b_step;
  const std::size_t columns = turned ? lines : size.columns;
  const std::size_t inner = turned ? size.inner : lines;
  in_blocks(columns, block_of_product, size.rows * inner / products_a_copy,
            [&](std::size_t begin, std::size_t end) {
              const ProductSize part{size.rows, inner, end - begin};
              if (turned) {
                multiply_with_blas(a, b.data() + begin * b_step, out + done + begin, part, right,
                                   steps);
              } else {
                multiply_with_blas(a + done, b.data() + begin, out + begin, part, right, steps,
                                   done == 0 ? Sum::new_one : Sum::goes_on);
              }
            });
}

bool is_for_blas(ProductSize size) {
  return size.rows * size.inner * size.columns > teaching_size && fits_blas(size);
}

}  // namespace

void multiply(std::span<const double> a, std::span<const double> b, std::span<double> out,
              ProductSize size, RightSide right) {
  if (a.size() != size.rows * size.inner || b.size() != size.inner * size.columns ||
      out.size() != size.rows * size.columns) {
    throw std::logic_error("multiply: the matrices do not have the size of the product");
  }
  if (out.empty()) return;
  if (is_for_blas(size)) {
    multiply_in_blocks(a.data(), b.data(), out.data(), size, right);
  } else if (right == RightSide::transposed) {
    multiply_transposed_in_order(a.data(), b.data(), out.data(), size);
  } else {
    multiply_in_order(a.data(), b.data(), out.data(), size);
  }
}

void multiply(std::span<const double> a, const Values& numbers, std::size_t first,
              std::span<double> out, ProductSize size, RightSide right) {
  const std::size_t count = size.inner * size.columns;
  if (numbers.are_held() || !is_for_blas(size)) {
    return multiply(a, numbers.part(first, count), out, size, right);
  }
  get_blas_ready();
  std::size_t done = 0;
  numbers.in_pieces(first, count, [&](std::span<const double> piece) {
    multiply_piece(a.data(), piece, done, out.data(), size, right);
    done += piece.size() / (right == RightSide::transposed ? size.inner : size.columns);
  });
}

void multiply_each(std::size_t count, ProductSize size,
                   const std::function<void(std::size_t)>& one) {
  const std::size_t products = size.rows * size.inner * size.columns;
  in_blocks(count, 1, products / 8, [&](std::size_t begin, std::size_t end) {
    for (std::size_t m = begin; m < end; ++m) one(m);
  });
}

}  // namespace qkv
