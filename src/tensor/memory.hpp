#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "tensor/tensor.hpp"

namespace qkv::inline tensor {

/// Returns how many bytes the program may use: 8 GiB until `set_memory_limit`. Sizes are checked
/// against it before allocation, and `HugePages` allocates no more. A setting of the process, like
/// its environment.
std::size_t memory_limit();

/// What set the limit, for messages.
enum class LimitSource { option, qkv, machine, control_group };
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
class MemoryBudget {
 public:
  MemoryBudget() = default;
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;
  ~MemoryBudget();

  /// Throws InputError, with `name`, if all reservations together exceed the limit.
  void add(const Tensor& tensor, std::string_view name);

  /// Sets the reservation to `numbers`, after tensors were released.
  void recount(std::size_t numbers);

 private:
  std::size_t numbers_ = 0;
};

}  // namespace qkv::inline tensor
