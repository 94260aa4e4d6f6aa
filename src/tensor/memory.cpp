#include <malloc.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <new>

/// Memory for large tensors comes in huge pages where the system has them, and once it is there it
/// is kept for the next tensor: touching a page for the first time costs more than filling it, and
/// is most of what a large attention costs otherwise. Small allocations are malloc's as ever.

namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;
constexpr std::size_t worth_it = 2 * huge_page;

// malloc returns large blocks to the system at once, unless it is told to take none from there.
void keep_what_is_freed() {
  static const bool once = [] {
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, -1);
    return true;
  }();
  static_cast<void>(once);
}

void* allocate(std::size_t size) {
  if (size < worth_it) return std::malloc(size == 0 ? 1 : size);
  const std::size_t whole = (size + huge_page - 1) / huge_page * huge_page;
  if (whole < size) return nullptr;
  keep_what_is_freed();
  void* memory = std::aligned_alloc(huge_page, whole);
  if (memory) madvise(memory, whole, MADV_HUGEPAGE);  // a wish: nothing is lost if it fails
  return memory;
}

[[gnu::noinline]] void release(void* memory) noexcept { std::free(memory); }

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
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
