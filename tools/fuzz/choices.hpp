#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>

namespace qkv::fuzz {

/// Choices that a fuzzer's bytes make, one byte each; 0 once they are used up.
class Choices {
 public:
  explicit Choices(std::string_view bytes) : bytes_(bytes) {}

  /// Returns a number from 0 to `count` - 1, for at most 256.
  std::size_t below(std::size_t count) {
    if (bytes_.empty()) return 0;
    const auto byte = static_cast<unsigned char>(bytes_.front());
    bytes_.remove_prefix(1);
    return byte % count;
  }

  /// Returns true once in so many times; false once the bytes are used up.
  bool once_in(std::size_t times) { return below(times) == times - 1; }

  /// Returns one element.
  template <class All>
  const auto& among(const All& all) {
    return *std::next(std::begin(all), static_cast<long>(below(std::size(all))));
  }

 private:
  std::string_view bytes_;
};

}  // namespace qkv::fuzz
