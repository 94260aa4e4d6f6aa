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
double number(const char* bytes, ByteOrder order) {
  return static_cast<double>(load<Stored>(bytes, order));
}

/// IEEE 754 binary16: 1 bit of sign, 5 of exponent, 10 of fraction.
double half(const char* bytes, ByteOrder order) {
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
double bfloat(const char* bytes, ByteOrder order) {
  const auto upper = static_cast<std::uint32_t>(load<std::uint16_t>(bytes, order));
  return static_cast<double>(std::bit_cast<float>(upper << 16));
}

double truth(const char* bytes, ByteOrder) { return *bytes != 0 ? 1.0 : 0.0; }

template <double (*one)(const char* bytes, ByteOrder order)>
void each(const char* bytes, std::size_t step, ByteOrder order, std::span<double> numbers) {
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = one(bytes + i * step, order);
}

/// Those that lie side by side in the machine's own order are most of all.
template <class Stored>
void each_number(const char* bytes, std::size_t step, ByteOrder order, std::span<double> numbers) {
  if (order == ByteOrder::big || step != sizeof(Stored)) {
    return each<number<Stored>>(bytes, step, order, numbers);
  }
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    Stored stored;
    std::memcpy(&stored, bytes + i * sizeof(Stored), sizeof(Stored));
    numbers[i] = static_cast<double>(stored);
  }
}

constexpr std::array all_dtypes = {
    Dtype{"f8", "F64", 8, each_number<double>, Precision::float64},
    Dtype{"f4", "F32", 4, each_number<float>, Precision::float32},
    Dtype{"f2", "F16", 2, each<half>, Precision::float16},
    Dtype{"", "BF16", 2, each<bfloat>, Precision::bfloat16},
    Dtype{"i1", "I8", 1, each_number<std::int8_t>, Precision::digits},
    Dtype{"i2", "I16", 2, each_number<std::int16_t>, Precision::digits},
    Dtype{"i4", "I32", 4, each_number<std::int32_t>, Precision::digits},
    Dtype{"i8", "I64", 8, each_number<std::int64_t>, Precision::digits},
    Dtype{"u1", "U8", 1, each_number<std::uint8_t>, Precision::digits},
    Dtype{"u2", "U16", 2, each_number<std::uint16_t>, Precision::digits},
    Dtype{"u4", "U32", 4, each_number<std::uint32_t>, Precision::digits},
    Dtype{"u8", "U64", 8, each_number<std::uint64_t>, Precision::digits},
    Dtype{"b1", "BOOL", 1, each<truth>, Precision::digits},
};

}  // namespace

std::span<const Dtype> dtypes() { return all_dtypes; }

Values load_values(const Dtype& dtype, std::string_view bytes, ByteOrder order) {
  Values values = Values::unwritten(bytes.size() / dtype.size);
  dtype.load(bytes.data(), dtype.size, order, {values.data(), values.size()});
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
