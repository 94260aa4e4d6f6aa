#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "tensor/tensor.hpp"

namespace qkv::inline tensor {

/// How many bytes the program may use: sizes are held against it before anything is allocated, and
/// `HugePages` gives no more. It belongs to the person who started the program, so it is
/// the process's, like its environment: 8 GiB until `set_memory_limit`.
std::size_t memory_limit();

/// Who set the limit, for messages.
enum class LimitSource { option, qkv, machine, control_group };
void set_memory_limit(std::size_t bytes, LimitSource whose = LimitSource::qkv);

inline constexpr std::size_t default_memory_limit = std::size_t{8} << 30;

/// Sets the limit where none is named: the usual one, or three quarters of what the machine has or
/// the process's control group may take, where that is less.
void set_default_memory_limit();

/// What to say where std::bad_alloc was thrown.
std::string out_of_memory();

/// "8G", "512MiB", "1.5g" in bytes, in steps of 1024; nothing where it is no such size.
std::optional<std::size_t> parse_size(std::string_view text);

/// "7.45 GiB", "512 MiB", "12 bytes".
std::string size_text(double bytes);

/// The share of the memory limit that a lesson's numbers take while it is read or worked out:
/// `element_count` refuses what does not fit beside them. It is given back at the end.
class MemoryBudget {
 public:
  MemoryBudget() = default;
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;
  ~MemoryBudget();

  /// Throws InputError, naming `name`, where all numbers held are more than the limit allows.
  void add(const Tensor& tensor, std::string_view name);

  /// Some were let go: this many are left.
  void recount(std::size_t numbers);

 private:
  std::size_t numbers_ = 0;
};

}  // namespace qkv::inline tensor
