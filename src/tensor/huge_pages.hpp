#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

namespace qkv::inline tensor {

/// Memory for large arrays of numbers comes in huge pages where the system has them, and once it is
/// there it is kept for the next array: touching a page for the first time costs more than filling
/// it, and is most of what a large attention costs otherwise. Throws std::bad_alloc where the
/// system has no more, or where all such arrays together would take more than `memory_limit`
/// allows.
void* allocate_huge_pages(std::size_t bytes);
void deallocate_huge_pages(void* memory, std::size_t bytes) noexcept;

/// An allocator for containers of numbers: those of a megabyte or more have huge pages.
template <class T>
struct HugePages {
  using value_type = T;

  HugePages() = default;
  template <class Other>
  HugePages(const HugePages<Other>&) {}

  T* allocate(std::size_t count) {
    if (count > SIZE_MAX / sizeof(T)) throw std::bad_alloc();
    return static_cast<T*>(allocate_huge_pages(count * sizeof(T)));
  }
  void deallocate(T* memory, std::size_t count) {
    deallocate_huge_pages(memory, count * sizeof(T));
  }

  template <class Other>
  bool operator==(const HugePages<Other>&) const {
    return true;
  }
};

}  // namespace qkv::inline tensor
