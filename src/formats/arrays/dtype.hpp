#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "formats/parsed_array.hpp"
#include "tensor/values.hpp"

namespace qkv::inline formats {

enum class ByteOrder { little, big };

/// A kind of number that binary files hold, by the name that each format gives it.
struct Dtype {
  std::string_view npy;          ///< without the byte order: "f8"; empty where NumPy has none
  std::string_view safetensors;  ///< "F64"
  std::size_t size;              ///< bytes
  /// Writes the number at `bytes` and those that follow it, each `step` bytes after the last.
  void (*load)(const char* bytes, std::size_t step, ByteOrder order, std::span<double> numbers);
  Precision precision;  ///< whole numbers and truth values are exact: they count as digits
};

/// Floats of 2, 4 and 8 bytes, integers and bool.
std::span<const Dtype> dtypes();

/// The numbers in `bytes`, which must be a multiple of the dtype's size long.
/// Throws InputError, which begins with `where`, for a whole number that no double holds.
Values load_values(const Dtype& dtype, std::string_view bytes, const std::string& where,
                   ByteOrder order = ByteOrder::little);

/// Numbers from a binary file as if they had been handed in: NaN is a number, decimals are 0.
ParsedArray array_of_values(Shape shape, std::span<const double> values, Precision precision);

/// The bytes of numbers as they lie in memory: little-endian doubles.
std::string_view bytes_of(std::span<const double> values);

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

}  // namespace qkv::inline formats
