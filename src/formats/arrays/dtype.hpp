#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "formats/parsed_array.hpp"
#include "tensor/values.hpp"

namespace qkv::inline formats {

enum class ByteOrder { little, big };

/// A number type of binary files, with the name that each format gives it.
struct Dtype {
  std::string_view npy;          ///< without the byte order: "f8"; empty if NumPy has none
  std::string_view safetensors;  ///< "F64"
  std::size_t size;              ///< bytes
  /// Converts the numbers at `bytes`, one every `step` bytes, into `numbers`.
  void (*load)(const char* bytes, std::size_t step, ByteOrder order, std::span<double> numbers);
  Precision precision;  ///< integers and booleans are exact: they count as digits
};

/// Floats of 2, 4 and 8 bytes, integers and bool.
std::span<const Dtype> dtypes();

/// Returns the numbers in `bytes`, whose length must be a multiple of the dtype's size. Throws
/// InputError (prefix `where`) for an integer that no double holds.
Values load_values(const Dtype& dtype, std::string_view bytes, const std::string& where,
                   ByteOrder order = ByteOrder::little);

/// Returns numbers from a binary file as a submitted array: NaN is a number, decimals are 0.
ParsedArray array_of_values(Shape shape, std::span<const double> values, Precision precision);

/// The bytes of numbers as they lie in memory: little-endian doubles.
std::string_view bytes_of(std::span<const double> values);

/// Returns the unsigned integer with these bytes, lowest first.
constexpr std::size_t from_little_endian(std::string_view bytes) {
  std::size_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    value = value << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return value;
}

/// Returns the number as `size` bytes, lowest first.
inline std::string little_endian(std::size_t value, std::size_t size) {
  std::string bytes;
  for (std::size_t i = 0; i < size; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
  return bytes;
}

}  // namespace qkv::inline formats
