#pragma once

#include "tensor/tensor.hpp"

namespace qkv::inline tensor {

/// What set the limit, for messages.
enum class LimitSource { option, qkv, machine, control_group };

/// Sets how many bytes the program may use: 8 GiB until then. Sizes are checked against it before
/// allocation, and `HugePages` allocates no more. A setting of the process, like its environment.
void set_memory_limit(std::size_t bytes, LimitSource whose = LimitSource::qkv);

inline constexpr std::size_t default_memory_limit = std::size_t{8} << 30;

/// Sets the limit if no option does: the default, or three quarters of the memory of the machine or
/// of the process's control group, whichever is least.
void set_default_memory_limit();

/// Returns the message for std::bad_alloc.
std::string out_of_memory();

/// Parses "8G", "512MiB" or "1.5g" as bytes, with units of 1024. Nothing for other texts.
std::optional<std::size_t> parse_size(std::string_view text);

/// Returns "7.45 GiB", "512 MiB", "12 bytes".
std::string size_text(double bytes);

/// Reserves part of the memory limit for the tensors of a lesson; `element_count` refuses what does
/// not fit beside them. The reservation ends with the object.
class MemoryBudget : NotCopied {
 public:
  MemoryBudget() = default;
  ~MemoryBudget();

  /// Throws InputError, with `name`, if all reservations together exceed the limit.
  void add(const Tensor& tensor, std::string_view name);

  /// Ends the reservation for a tensor that was added.
  void remove(const Tensor& tensor);

 private:
  std::size_t numbers_ = 0;
};

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
