#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace qkv::inline tensor {

/// Tensors up to this size use fixed-order loops. Larger ones are not shown in lessons, and may use
/// faster kernels whose last bits differ.
inline constexpr std::size_t small_tensor_limit = std::size_t{1} << 16;

/// Sets how many threads large work may use; 0, the default: one per core. Call it before any work.
void set_thread_limit(std::size_t count);
std::size_t thread_limit();

/// Calls `work(begin, end)` for each block of `block` indices below count, in parallel if the work
/// is large. `operations` is the approximate cost of one index, in additions or copies. The blocks,
/// and so all results, do not depend on the number of threads. Nested calls run on one thread.
/// Rethrows an exception of `work`.
void parallel_for(std::size_t count, std::size_t block, std::size_t operations,
                  const std::function<void(std::size_t begin, std::size_t end)>& work);

/// Makes `count` texts in parallel, and calls `use` for each, one at a time and in order. A few
/// texts per thread are held at a time; `operations` is the approximate cost of one. Rethrows an
/// exception of either, and uses nothing after it.
void in_order(std::size_t count, std::size_t operations,
              const std::function<std::string(std::size_t)>& make,
              const std::function<void(std::string_view)>& use);

}  // namespace qkv::inline tensor
