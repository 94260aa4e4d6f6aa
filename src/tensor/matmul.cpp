#include "tensor/matmul.hpp"

#include <sys/mman.h>
#include <xtensor-blas/xblas.hpp>

#include "tensor/resources.hpp"
#include "text/strings.hpp"

// xtensor-blas declares BLAS itself and clashes with <cblas.h>, which declares this function.
extern "C" void openblas_set_num_threads(int threads);

namespace qkv::inline tensor {
namespace {

// Up to this size the plain loop is fast enough, and its order of addition is fixed.
constexpr std::size_t teaching_size = std::size_t{64} * 64 * 64;

// OpenBLAS 0.3.21 takes a processor newer than itself for one of 2004 and is then five times
// slower. So the processor's features decide here, unless the user has. OpenBLAS reads the variable
// when it is loaded, hence .preinit_array.
void choose_kernels() {
  __builtin_cpu_init();
  const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  const bool fused = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const char* kernels = wide ? "SkylakeX" : fused ? "Haswell" : nullptr;
  if (kernels) setenv("OPENBLAS_CORETYPE", kernels, 0);
  setenv("OPENBLAS_NUM_THREADS", "1", 1);  // no thread pool: parallel_for shares out blocks of rows
}
[[gnu::section(".preinit_array"),
  gnu::used]] void (*const before_libraries_start)() = choose_kernels;

// Two blocks and their product, which is added to `out` if `adds`; steps are between rows.
struct Part {
  const double* a;
  const double* b = nullptr;
  double* out;
  std::size_t a_step, b_step, out_step;
  bool adds = false;
};

// Calls BLAS by what xtensor-blas calls it with, since a block's rows are not contiguous.
void multiply_with_blas(const Part& part, ProductSize size, RightSide right) {
  const auto number = [](std::size_t count) { return static_cast<xt::blas_index_t>(count); };
  cxxblas::gemm<xt::blas_index_t>(
      cxxblas::RowMajor, cxxblas::NoTrans,
      right == RightSide::transposed ? cxxblas::Trans : cxxblas::NoTrans, number(size.rows),
      number(size.columns), number(size.inner), 1.0, part.a, number(part.a_step), part.b,
      number(part.b_step), part.adds ? 1.0 : 0.0, part.out, number(part.out_step));
}

// OpenBLAS maps a buffer for each thread, and retries for ever if the system refuses. So this asks
// first.
void refuse_without_buffers() {
  constexpr std::size_t buffer = std::size_t{128} << 20;
  constexpr std::size_t beside = std::size_t{32} << 20;  // stacks, tables
  const std::size_t size = thread_limit() * buffer + beside;
  void* const room =
      mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) {
    throw InputError(
        "large products need {} MiB of address space more than there is left; raise ulimit -v, or "
        "take fewer --threads",
        size >> 20U);
  }
  munmap(room, size);
}

// Throws InputError if there is no memory for BLAS.
void initialise_blas() {
  static const bool one_thread = [] {
    refuse_without_buffers();
    openblas_set_num_threads(1);  // a dynamic OpenBLAS has read the environment already
    return true;
  }();
  static_cast<void>(one_thread);
}

// Products that BLAS computes in the time of one plain operation.
constexpr std::size_t products_a_copy = 8;

// Blocks of rows or, if there are few, of columns. They do not depend on the number of threads, nor
// do the sums.
void multiply_in_blocks(const Part& part, ProductSize size) {
  constexpr std::size_t block = 256;
  const bool by_rows = size.rows > block;
  const std::size_t count = by_rows ? size.rows : size.columns;
  parallel_for(count, block, size.rows * size.inner * size.columns / count / products_a_copy,
               [&](std::size_t begin, std::size_t end) {
                 Part own = part;
                 ProductSize own_size = size;
                 if (by_rows) {
                   own.a += begin * part.a_step;
                   own.out += begin * part.out_step;
                   own_size.rows = end - begin;
                 } else {
                   own.b += begin;
                   own.out += begin;
                   own_size.columns = end - begin;
                 }
                 multiply_with_blas(own, own_size, RightSide::as_is);
               });
}

// Returns `count` lines of the right-hand matrix.
using Lines = std::function<std::span<const double>(std::size_t first, std::size_t count)>;

// A large right-hand matrix is used in pieces, stored or lazy, so that the sums are the same. A
// piece of a transposed one yields columns of the product, else some terms of every cell.
void multiply_large(const double* a, const Lines& lines_of_b, double* out, ProductSize size,
                    RightSide right) {
  initialise_blas();
  Part part{
      .a = a, .out = out, .a_step = size.inner, .b_step = size.columns, .out_step = size.columns};
  if (right == RightSide::transposed) {  // each thread reads what it multiplies
    part.b_step = size.inner;
    constexpr std::size_t in_cache = std::size_t{1} << 18;
    const std::size_t block = std::clamp<std::size_t>(in_cache / size.inner / 8 * 8, 8, 256);
    parallel_for(size.columns, block, size.rows * size.inner / products_a_copy,
                 [&](std::size_t begin, std::size_t end) {
                   Part own = part;
                   own.b = lines_of_b(begin, end - begin).data();
                   own.out += begin;
                   multiply_with_blas(own, {size.rows, size.inner, end - begin}, right);
                 });
    return;
  }
  constexpr std::size_t numbers_a_piece = std::size_t{1} << 20;
  const std::size_t lines_a_piece = std::max<std::size_t>(1, numbers_a_piece / size.columns);
  for (std::size_t done = 0; done < size.inner; done += lines_a_piece) {
    const std::size_t count = std::min(lines_a_piece, size.inner - done);
    part.a = a + done;
    part.b = lines_of_b(done, count).data();
    part.adds = done > 0;
    multiply_in_blocks(part, {size.rows, count, size.columns});
  }
}

bool is_large(ProductSize size) {
  constexpr std::size_t most = std::numeric_limits<int>::max();  // BLAS takes sizes as int
  return size.rows * size.inner * size.columns > teaching_size &&
         std::max({size.rows, size.inner, size.columns}) <= most;
}

void refuse_other_size(std::size_t a, std::size_t b, std::size_t out, ProductSize size) {
  if (a != size.rows * size.inner || b != size.inner * size.columns ||
      out != size.rows * size.columns) {
    throw std::logic_error("multiply: the matrices do not have the size of the product");
  }
}

}  // namespace

void multiply(std::span<const double> a, std::span<const double> b, std::span<double> out,
              ProductSize size, RightSide right) {
  refuse_other_size(a.size(), b.size(), out.size(), size);
  if (out.empty()) return;
  if (is_large(size)) {
    const std::size_t width = right == RightSide::transposed ? size.inner : size.columns;
    const auto lines = [&](std::size_t first, std::size_t count) {
      return b.subspan(first * width, count * width);
    };
    multiply_large(a.data(), lines, out.data(), size, right);
  } else if (right == RightSide::transposed) {
    multiply_transposed_in_order(a.data(), b.data(), out.data(), size);
  } else {
    multiply_in_order(a.data(), b.data(), out.data(), size);
  }
}

void multiply(std::span<const double> a, const Values& numbers, std::size_t first,
              std::span<double> out, ProductSize size, RightSide right) {
  const std::size_t in_b = size.inner * size.columns;
  if (numbers.are_stored() || !is_large(size)) {
    return multiply(a, numbers.part(first, in_b), out, size, right);
  }
  if (const Values* other = numbers.transposed())
    return multiply(a, *other, first, out, size,
                    right == RightSide::transposed ? RightSide::as_is : RightSide::transposed);
  refuse_other_size(a.size(), std::min(in_b, numbers.size() - first), out.size(), size);
  const std::size_t width = right == RightSide::transposed ? size.inner : size.columns;
  const auto lines = [&](std::size_t line, std::size_t count) {
    thread_local Scratch scratch;  // its pages are touched once, not for each product
    return numbers.read(first + line * width, count * width, scratch);
  };
  multiply_large(a.data(), lines, out.data(), size, right);
}

void for_each_product(std::size_t count, ProductSize size,
                      const std::function<void(std::size_t)>& one) {
  const std::size_t products = size.rows * size.inner * size.columns;
  parallel_for(count, 1, is_large(size) ? products / products_a_copy : products,
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t m = begin; m < end; ++m) one(m);
               });
}

}  // namespace qkv::inline tensor
