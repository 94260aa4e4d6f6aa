#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace qkv::inline tensor {

/// Above so many numbers a tensor is no longer one that a lesson shows, and may be worked out by
/// faster ways whose last bits differ from those of the plain loops.
inline constexpr std::size_t small_tensor_limit = std::size_t{1} << 16;

/// How many threads large work may use; 0: as many as the machine has cores, which is so until
/// this is called. To be called before any work.
void set_thread_limit(std::size_t count);
std::size_t thread_limit();

/// Calls `work(begin, end)` for each block of `block` indices of 0 … count, on several threads
/// where all of it takes longer than starting them: `operations` is about how many additions or
/// copies one index costs. The blocks do not depend on the number of threads, so neither does any
/// result. Blocks within a block that several threads share run one after the other. An exception
/// of `work` is thrown on.
void parallel_for(std::size_t count, std::size_t block, std::size_t operations,
                  const std::function<void(std::size_t begin, std::size_t end)>& work);

/// Makes `count` texts on several threads, and calls `use` for each, one at a time and in their
/// order, while others are being made; a few for each thread are held at a time. `operations` is
/// about what one text costs, as above. An exception of either is thrown on, and nothing after it
/// is used.
void in_order(std::size_t count, std::size_t operations,
              const std::function<std::string(std::size_t)>& make,
              const std::function<void(std::string_view)>& use);

}  // namespace qkv::inline tensor
