#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace qkv {

/// The whole number that the bytes are, the lowest first.
constexpr std::size_t from_little_endian(std::string_view bytes) {
  std::size_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    value = value << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return value;
}

/// The number as so many bytes, the lowest first.
inline std::string little_endian(std::size_t value, std::size_t size) {
  std::string bytes;
  for (std::size_t i = 0; i < size; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
  return bytes;
}

}  // namespace qkv
