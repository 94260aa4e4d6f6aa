#ifndef __has_feature  // GCC
#define __has_feature(feature) 0
#endif
#if __has_feature(address_sanitizer)
#include <sanitizer/allocator_interface.h>
#endif

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string_view>

#include "target.hpp"
#include "text/strings.hpp"
#include "text/unicode.hpp"

// What every fuzzer does with its target: calls it with libFuzzer's bytes, counts the memory that
// it takes, and looks at what it says where it refuses.

namespace {

// Tables that are made at the first call, buffers of streams, zlib's window.
constexpr std::size_t memory_at_least = std::size_t{1} << 18;
constexpr std::size_t longest_message = 2000;

std::size_t taken = 0;
std::size_t peak = 0;

#if __has_feature(address_sanitizer)  // which alone knows how much is freed
void on_malloc(const volatile void*, std::size_t size) {
  taken += size;
  peak = std::max(peak, taken);
}

void on_free(const volatile void* memory) {
  if (memory == nullptr) return;
  const std::size_t size = __sanitizer_get_allocated_size(const_cast<const void*>(memory));
  taken -= std::min(taken, size);  // what was there before the call is not counted
}

void count_memory() { __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free); }
#else
void count_memory() {}
#endif

void check_message(std::string_view message, std::size_t input) {
  qkv::fuzz::law(!message.empty(), "a refusal says why");
  qkv::fuzz::law(message.size() <= longest_message + 8 * input, "a refusal is no flood");
  const std::string shown = qkv::sanitise(message);
  qkv::fuzz::law(qkv::sanitise(shown) == shown, "a refusal can be shown");
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  count_memory();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using qkv::fuzz::target;
  static bool is_warm = false;  // the first call pays for what is made once
  taken = peak = 0;
  try {
    target.call({reinterpret_cast<const char*>(data), size});
  } catch (const qkv::InputError& refusal) {
    check_message(refusal.what(), size);
  }
  if (target.memory_per_byte > 0 && is_warm) {
    qkv::fuzz::law(peak <= memory_at_least + target.memory_per_byte * size,
                   "no more memory than the bytes justify");
  }
  is_warm = true;
  return 0;
}
