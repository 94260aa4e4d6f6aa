// Counts what the readers do. They are compiled for this program with a call of
// __sanitizer_cov_trace_pc at every branch (-fsanitize-coverage=trace-pc, in GCC and Clang), and
// the linker sends calls of the C library's searches and copies through the functions below
// (--wrap). Such counts need no counters of the processor, which virtual machines and containers
// often hide.
#include "costs/counting.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::size_t> work = 0;
std::atomic<std::size_t> allocated = 0;

void go_through(std::size_t bytes) { work.fetch_add(1 + bytes / 16, std::memory_order_relaxed); }

void* allocate(std::size_t bytes) {
  allocated.fetch_add(bytes, std::memory_order_relaxed);
  if (void* const memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t bytes) { return allocate(bytes); }
void* operator new[](std::size_t bytes) { return allocate(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

extern "C" {

void __sanitizer_cov_trace_pc() { work.fetch_add(1, std::memory_order_relaxed); }

void* __real_memchr(const void* bytes, int wanted, std::size_t count);
int __real_memcmp(const void* a, const void* b, std::size_t count);
void* __real_memcpy(void* to, const void* from, std::size_t count);
void* __real_memmove(void* to, const void* from, std::size_t count);
void* __real_memset(void* bytes, int value, std::size_t count);
std::size_t __real_strlen(const char* text);

void* __wrap_memchr(const void* bytes, int wanted, std::size_t count) {
  void* const found = __real_memchr(bytes, wanted, count);
  const auto* const end = static_cast<const char*>(found);
  go_through(found == nullptr ? count
                              : static_cast<std::size_t>(end - static_cast<const char*>(bytes)));
  return found;
}

int __wrap_memcmp(const void* a, const void* b, std::size_t count) {
  std::size_t equal = 0;
  while (equal < count &&
         static_cast<const char*>(a)[equal] == static_cast<const char*>(b)[equal]) {
    ++equal;
  }
  go_through(equal);
  return __real_memcmp(a, b, count);
}

void* __wrap_memcpy(void* to, const void* from, std::size_t count) {
  go_through(count);
  return __real_memcpy(to, from, count);
}

void* __wrap_memmove(void* to, const void* from, std::size_t count) {
  go_through(count);
  return __real_memmove(to, from, count);
}

void* __wrap_memset(void* bytes, int value, std::size_t count) {
  go_through(count);
  return __real_memset(bytes, value, count);
}

std::size_t __wrap_strlen(const char* text) {
  const std::size_t size = __real_strlen(text);
  go_through(size);
  return size;
}
}

namespace qkv::test {

Cost cost_of(const std::function<void()>& call) {
  const Cost before{.work = work, .allocated = allocated};
  call();
  return {.work = work - before.work, .allocated = allocated - before.allocated};
}

}  // namespace qkv::test
