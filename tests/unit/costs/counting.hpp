#pragma once

#include <cstddef>
#include <functional>

namespace qkv::test {

/// What a call costs, counted and not timed: the same on every machine and at every run.
struct Cost {
  std::size_t work = 0;  ///< branches taken in the readers, and each 16 bytes that memchr, memcmp,
                         ///< memcpy, memmove, memset and strlen go through for them
  std::size_t allocated = 0;  ///< bytes, also those freed since
};

/// Runs `call` and returns its cost.
Cost cost_of(const std::function<void()>& call);

}  // namespace qkv::test
