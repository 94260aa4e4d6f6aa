#include "tensor/huge_pages.hpp"

#include <malloc.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "tensor/memory.hpp"

namespace qkv {
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

// Asks for huge pages wherever the block lies, with what lies before and behind it: a wish changes
// no content, so it does no harm to a neighbour. The block itself is not aligned to them: freed, it
// would then be too small for the next of its size, since aligning takes more than is used.
void wish_for_huge_pages(void* memory, std::size_t size) {
  const std::size_t before = reinterpret_cast<std::uintptr_t>(memory) % huge_page;
  const std::size_t whole = (before + size + huge_page - 1) / huge_page * huge_page;
  madvise(static_cast<char*>(memory) - before, whole, MADV_HUGEPAGE);  // may fail
}

std::atomic<std::size_t> taken = 0;

void* take_large(std::size_t bytes) {
  if (taken += bytes; taken > memory_limit()) return nullptr;
  keep_what_is_freed();
  void* const memory = std::malloc(bytes);
  if (memory != nullptr) wish_for_huge_pages(memory, bytes);
  return memory;
}

}  // namespace

void* take_huge_pages(std::size_t bytes) {
  if (bytes < worth_it) return ::operator new(bytes);
  if (void* const memory = take_large(bytes)) return memory;
  taken -= bytes;
  throw std::bad_alloc();
}

void give_huge_pages(void* memory, std::size_t bytes) noexcept {
  if (bytes < worth_it) return ::operator delete(memory);
  taken -= bytes;
  std::free(memory);
}

}  // namespace qkv
