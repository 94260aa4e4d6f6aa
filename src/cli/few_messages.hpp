#pragma once

#include <cstddef>
#include <string_view>

namespace qkv {

/// Messages of a kind that may come by the thousand: the first ones are told, the others counted.
class FewMessages {
 public:
  /// A line of standard error, unless there were many already; whether it was told.
  bool tell(std::string_view message);

  /// How many were not told; 0 at first.
  std::size_t untold() const;

 private:
  std::size_t count_ = 0;
};

}  // namespace qkv
