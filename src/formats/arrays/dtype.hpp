#pragma once

#include "formats/format.hpp"

namespace qkv::inline formats {

enum class ByteOrder { little, big };

/// A number type of binary files, with the name that each format gives it.
struct Dtype {
  std::string_view npy;          ///< without the byte order: "f8"; empty if NumPy has none
  std::string_view safetensors;  ///< "F64"
  std::string_view torch;        ///< of a file of torch.save: "torch DoubleStorage"; empty if none
  std::size_t size;              ///< bytes
  /// Converts the numbers at `bytes`, one every `step` bytes, into `numbers`.
  void (*load)(const char* bytes, std::size_t step, ByteOrder order, std::span<double> numbers);
  Precision precision;  ///< integers and booleans are exact: they count as digits
  /// True if no little-endian number is NaN or infinite; nullptr if none can be.
  bool (*are_finite)(std::string_view bytes) = nullptr;
};

/// Floats of 2, 4 and 8 bytes, integers and bool.
std::span<const Dtype> dtypes();

/// Returns the numbers in `bytes`, whose length must be a multiple of the dtype's size. If `keeps`
/// keeps the bytes, many floats of 32 or 64 bits are lazy: read from them when they are used.
/// Throws InputError (prefix `where`) for an integer that no double holds.
Values load_values(const Dtype& dtype, std::string_view bytes, const std::string& where,
                   ByteOrder order = ByteOrder::little, std::shared_ptr<const void> keeps = {});

/// Returns numbers from a binary file as a submitted array: NaN is a number, decimals are 0.
inline ParsedArray array_of_values(Shape shape, Values values, Precision precision) {
  return {.shape = std::move(shape), .cells = std::move(values), .precision = precision};
}

/// The bytes of numbers as they lie in memory: little-endian doubles.
std::string_view bytes_of(std::span<const double> values);

/// A number this low, where -inf is expected, is a finite mask.
inline constexpr double finite_mask = -1000;

/// How exact the numbers of a precision are.
struct PrecisionRule {
  Precision precision;
  std::string_view name;
  int decimals;               ///< the most that a binary number stands for
  double floor;               ///< smallest difference that counts, relative to the largest number
  double least;               ///< the least value used for the largest number
  double nearness;            ///< relative distance of a stored number from the intended one
  double relative, absolute;  ///< the default tolerance of torch.testing.assert_close
  int bits;                   ///< of the fraction
  int lowest;                 ///< the smallest number is 2 to this power
};
/// From the coarsest to the finest. Digits have the tolerance of float64.
inline constexpr PrecisionRule precision_rules[] = {
    {Precision::bfloat16, "bfloat16", 2, 0x1p-7, 0x1p-126, 0x1p-8, 1.6e-2, 1e-5, 7, -133},
    {Precision::float16, "float16", 3, 0x1p-10, 0x1p-14, 0x1p-11, 1e-3, 1e-5, 10, -24},
    {Precision::float32, "float32", 6, 1e-6, 1, 0x1p-24, 1.3e-6, 1e-5, 23, -149},
    {Precision::float64, "float64", 12, 1e-12, 1, 0x1p-52, 1e-7, 1e-7, 52, -1074},
    {Precision::digits, "float64", 0, 1e-6, 1, 0, 1e-7, 1e-7, 52, -1074},
};

inline const PrecisionRule& rule_of(Precision precision) {
  return *std::ranges::find(precision_rules, precision, &PrecisionRule::precision);
}

/// Returns the decimals to which all numbers of a binary file were rounded before saving: 3 for
/// 0.125f, 0.1f. Nothing if they have more than their precision holds for certain (float64: 12,
/// float32: 6, float16: 3, bfloat16: 2). Nothing also if most are too large for it to hold one
/// decimal more.
std::optional<int> rounded_decimals(const NumeralCells& cells, Precision precision);

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
