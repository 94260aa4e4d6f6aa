// The row kernels for each kind of processor by itself: the program's own copies have no names that
// could be called, and it takes the best that the machine has.
#include "tensor/one_processor.hpp"

#include "tensor/matmul.hpp"

#define qkv plain_processor
#define QKV_FOR_EACH_PROCESSOR
#include "tensor/row_kernels.cpp"
#undef qkv
#undef QKV_FOR_EACH_PROCESSOR

#define qkv processor_with_avx2
#define QKV_FOR_EACH_PROCESSOR [[gnu::target("arch=x86-64-v3")]]
#include "tensor/row_kernels.cpp"
#undef qkv
#undef QKV_FOR_EACH_PROCESSOR

#define qkv processor_with_avx512
#define QKV_FOR_EACH_PROCESSOR [[gnu::target("arch=x86-64-v4")]]
#include "tensor/row_kernels.cpp"
#undef qkv
#undef QKV_FOR_EACH_PROCESSOR

#define QKV_KERNELS(name, runs_here, room)                                                         \
  RowKernels {                                                                                     \
    name, runs_here, room::softmax_row, room::tanh_row, room::all_finite, room::largest_magnitude, \
        room::has_nan                                                                              \
  }

namespace {

bool has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") &&
         __builtin_cpu_supports("fma");
}

bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}

}  // namespace

std::span<const RowKernels> row_kernels_of_each_processor() {
  static const RowKernels kernels[] = {
      QKV_KERNELS("plain", true, plain_processor),
      QKV_KERNELS("AVX2", has_avx2(), processor_with_avx2),
      QKV_KERNELS("AVX-512", has_avx512(), processor_with_avx512),
      QKV_KERNELS("as the program takes them", true, qkv),
  };
  return kernels;
}
