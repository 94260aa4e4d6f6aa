#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

namespace qkv::inline tensor {

/// Allocates memory in huge pages where available, and reuses freed blocks. The first touch of a
/// page costs more than filling it, and is most of the time of a large attention otherwise. Throws
/// std::bad_alloc if the system or `memory_limit` (for all such arrays) allows no more.
void* allocate_huge_pages(std::size_t bytes);
void deallocate_huge_pages(void* memory, std::size_t bytes) noexcept;

/// An allocator for containers of numbers: from a megabyte on they get huge pages.
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
