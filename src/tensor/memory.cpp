#include <malloc.h>
#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "tensor/memory_limit.hpp"

/// Memory for large tensors comes in huge pages where the system has them, and once it is there it
/// is kept for the next tensor: touching a page for the first time costs more than filling it, and
/// is most of what a large attention costs otherwise. Small allocations are malloc's as ever. No
/// more is given than `memory_limit` allows: a lesson that asks for too much ends with a message,
/// before the machine does.

namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;
constexpr std::size_t worth_it = huge_page / 2;

// malloc returns large blocks to the system at once, unless it is told to take none from there.
// What it takes of its own heap grows by whole huge pages, so that the next one is there already.
void keep_what_is_freed() {
  static const bool once = [] {
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, -1);
    mallopt(M_TOP_PAD, 8 * huge_page);
    return true;
  }();
  static_cast<void>(once);
}

// Blocks below this are not counted: no number of them that a file can ask for is a danger.
constexpr std::size_t worth_counting = 4096;
// malloc may give a little more than is asked for, but not so much.
constexpr std::size_t surely_not_counted = worth_counting - 128;
std::atomic<std::size_t> taken = 0;

// Asks for huge pages wherever the block lies, with what lies before and behind it: a wish changes
// no content, so it does no harm to a neighbour. The block itself is not aligned to them: freed, it
// would then be too small for the next of its size, since aligning takes more than is used.
void wish_for_huge_pages(void* memory, std::size_t size) {
  const std::size_t before = reinterpret_cast<std::uintptr_t>(memory) % huge_page;
  const std::size_t whole = (before + size + huge_page - 1) / huge_page * huge_page;
  madvise(static_cast<char*>(memory) - before, whole, MADV_HUGEPAGE);  // may fail
}

void* take(std::size_t size) {
  if (size < worth_it) return std::malloc(size == 0 ? 1 : size);
  keep_what_is_freed();
  void* memory = std::malloc(size);
  if (memory) wish_for_huge_pages(memory, size);
  return memory;
}

void* allocate(std::size_t size) {
  if (size <= surely_not_counted) return take(size);
  if (size >= worth_counting && (taken + size < size || taken + size > qkv::memory_limit())) {
    return nullptr;
  }
  void* memory = take(size);
  const std::size_t got = memory ? malloc_usable_size(memory) : 0;
  if (got >= worth_counting) taken += got;
  return memory;
}

[[gnu::noinline]] void release(void* memory) noexcept {
  const std::size_t got = memory ? malloc_usable_size(memory) : 0;
  if (got >= worth_counting) taken -= got;
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t size) {
  while (true) {
    if (void* memory = allocate(size)) return memory;
    const std::new_handler handler = std::get_new_handler();
    if (!handler) throw std::bad_alloc();
    handler();
  }
}

void operator delete(void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t size) noexcept {
  size <= surely_not_counted ? std::free(memory) : release(memory);
}

// The library's own would do, but a sanitizer brings others, which know nothing of these two.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return allocate(size); }
void* operator new[](std::size_t size) { return operator new(size); }
void operator delete[](void* memory) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t size) noexcept { operator delete(memory, size); }
