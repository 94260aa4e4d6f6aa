#include "formats/dtype.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

namespace qkv {
namespace {

static_assert(std::endian::native == std::endian::little, "dtype.cpp copies little-endian bytes");

template <class Stored>
Stored load(const char* bytes, ByteOrder order) {
  std::array<char, sizeof(Stored)> copy;
  std::copy_n(bytes, sizeof(Stored), copy.begin());
  if (order == ByteOrder::big) std::reverse(copy.begin(), copy.end());
  return std::bit_cast<Stored>(copy);
}

template <class Stored>
double load_number(const char* bytes, ByteOrder order) {
  return static_cast<double>(load<Stored>(bytes, order));
}

/// IEEE 754 binary16: 1 bit of sign, 5 of exponent, 10 of fraction.
double load_half(const char* bytes, ByteOrder order) {
  const auto bits = load<std::uint16_t>(bytes, order);
  const int exponent = (bits >> 10) & 0x1f;
  const int fraction = bits & 0x3ff;
  double magnitude = 0;
  if (exponent == 0x1f) {
    magnitude = fraction == 0 ? std::numeric_limits<double>::infinity() : std::nan("");
  } else if (exponent == 0) {
    magnitude = std::ldexp(fraction, -24);
  } else {
    magnitude = std::ldexp(fraction + 0x400, exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

/// bfloat16 is the upper half of a float's bits.
double load_bfloat(const char* bytes, ByteOrder order) {
  const auto upper = static_cast<std::uint32_t>(load<std::uint16_t>(bytes, order));
  return static_cast<double>(std::bit_cast<float>(upper << 16));
}

double load_bool(const char* bytes, ByteOrder) { return *bytes != 0 ? 1.0 : 0.0; }

constexpr std::array all_dtypes = {
    Dtype{"f8", "F64", 8, load_number<double>, Precision::float64},
    Dtype{"f4", "F32", 4, load_number<float>, Precision::float32},
    Dtype{"f2", "F16", 2, load_half, Precision::float16},
    Dtype{"", "BF16", 2, load_bfloat, Precision::bfloat16},
    Dtype{"i1", "I8", 1, load_number<std::int8_t>, Precision::digits},
    Dtype{"i2", "I16", 2, load_number<std::int16_t>, Precision::digits},
    Dtype{"i4", "I32", 4, load_number<std::int32_t>, Precision::digits},
    Dtype{"i8", "I64", 8, load_number<std::int64_t>, Precision::digits},
    Dtype{"u1", "U8", 1, load_number<std::uint8_t>, Precision::digits},
    Dtype{"u2", "U16", 2, load_number<std::uint16_t>, Precision::digits},
    Dtype{"u4", "U32", 4, load_number<std::uint32_t>, Precision::digits},
    Dtype{"u8", "U64", 8, load_number<std::uint64_t>, Precision::digits},
    Dtype{"b1", "BOOL", 1, load_bool, Precision::digits},
};

}  // namespace

std::span<const Dtype> dtypes() { return all_dtypes; }

std::vector<double> load_values(const Dtype& dtype, std::string_view bytes, ByteOrder order) {
  std::vector<double> values(bytes.size() / dtype.size);
  if (dtype.precision == Precision::float64 && order == ByteOrder::little) {
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(double));
    return values;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = dtype.load(bytes.data() + i * dtype.size, order);
  }
  return values;
}

Written written_of(Shape shape, std::span<const double> values, Precision precision) {
  Written written;
  written.shape = std::move(shape);
  written.precision = precision;
  written.cells.reserve(values.size());
  for (const double value : values) written.cells.push_back({.value = value});
  return written;
}

std::string_view bytes_of(std::span<const double> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

}  // namespace qkv
