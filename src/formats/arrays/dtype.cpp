#include "formats/arrays/dtype.hpp"

#include <bit>

#include "tensor/resources.hpp"
#include "text/strings.hpp"

namespace qkv::inline formats {
namespace {

static_assert(std::endian::native == std::endian::little, "dtype.cpp copies little-endian bytes");

template <class Stored>
double number(Stored stored) {
  return static_cast<double>(stored);
}

/// Some 64-bit integers are not doubles: two that differ must not become the same.
template <class Stored>
double whole(Stored stored) {
  if (loses_precision(stored)) {
    throw InputError(
        "{} is a whole number that no double holds: if it may be rounded, save floating-point "
        "numbers",
        stored);
  }
  return static_cast<double>(stored);
}

/// IEEE 754 binary16: 1 sign bit, 5 of exponent, 10 of fraction. Shifted to the fields of a float,
/// they are that float times a power of two; the largest exponent is infinity or NaN in both.
double half(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000U) << 16U;
  const std::uint32_t magnitude = (bits & 0x7fffU) << 13U;
  constexpr std::uint32_t no_number = 0x7c00U << 13U;
  const float small = std::bit_cast<float>(magnitude) * 0x1p112F;
  const float special = std::bit_cast<float>(magnitude | 0x7f800000U);
  const auto value = std::bit_cast<std::uint32_t>(magnitude >= no_number ? special : small);
  return static_cast<double>(std::bit_cast<float>(value | sign));
}

/// bfloat16 is the upper half of a float's bits.
double bfloat(std::uint16_t bits) {
  return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U));
}

double truth(std::uint8_t byte) { return byte != 0 ? 1.0 : 0.0; }

template <class Stored>
Stored stored_at(const char* bytes, ByteOrder order) {
  std::array<char, sizeof(Stored)> copy;
  std::copy_n(bytes, sizeof(Stored), copy.begin());
  if (order == ByteOrder::big) std::reverse(copy.begin(), copy.end());
  return std::bit_cast<Stored>(copy);
}

template <class Stored, double (*value)(Stored) = number<Stored>>
void each(const char* bytes, std::size_t step, ByteOrder order, std::span<double> numbers) {
  if (order == ByteOrder::little && step == sizeof(Stored)) {  // the usual case
    parallel_for(numbers.size(), small_tensor_limit, 1, [&](std::size_t i, std::size_t end) {
      for (double& number : numbers.subspan(i, end - i))
        number = value(stored_at<Stored>(bytes + sizeof(Stored) * i++, ByteOrder::little));
    });
    return;
  }
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = value(stored_at<Stored>(bytes + i * step, order));
  }
}

// All bits of the exponent are 1 in NaN and in the infinities alone.
template <class Bits, Bits exponent>
bool are_finite(std::string_view bytes) {
  bool all = true;
  for (std::size_t i = 0; i < bytes.size(); i += sizeof(Bits))
    all &= (stored_at<Bits>(bytes.data() + i, ByteOrder::little) & exponent) != exponent;
  return all;
}

constexpr std::array all_dtypes = {
    Dtype{"f8", "F64", "torch DoubleStorage", 8, each<double>, Precision::float64,
          are_finite<std::uint64_t, 0x7ff0000000000000>},
    Dtype{"f4", "F32", "torch FloatStorage", 4, each<float>, Precision::float32,
          are_finite<std::uint32_t, 0x7f800000>},
    Dtype{"f2", "F16", "torch HalfStorage", 2, each<std::uint16_t, half>, Precision::float16,
          are_finite<std::uint16_t, 0x7c00>},
    Dtype{"", "BF16", "torch BFloat16Storage", 2, each<std::uint16_t, bfloat>, Precision::bfloat16,
          are_finite<std::uint16_t, 0x7f80>},
    Dtype{"i1", "I8", "torch CharStorage", 1, each<std::int8_t>, Precision::digits},
    Dtype{"i2", "I16", "torch ShortStorage", 2, each<std::int16_t>, Precision::digits},
    Dtype{"i4", "I32", "torch IntStorage", 4, each<std::int32_t>, Precision::digits},
    Dtype{"i8", "I64", "torch LongStorage", 8, each<std::int64_t, whole<std::int64_t>>,
          Precision::digits},
    Dtype{"u1", "U8", "torch ByteStorage", 1, each<std::uint8_t>, Precision::digits},
    Dtype{"u2", "U16", "", 2, each<std::uint16_t>, Precision::digits},
    Dtype{"u4", "U32", "", 4, each<std::uint32_t>, Precision::digits},
    Dtype{"u8", "U64", "", 8, each<std::uint64_t, whole<std::uint64_t>>, Precision::digits},
    Dtype{"b1", "BOOL", "torch BoolStorage", 1, each<std::uint8_t, truth>, Precision::digits},
};

}  // namespace

std::span<const Dtype> dtypes() { return all_dtypes; }

Values load_values(const Dtype& dtype, std::string_view bytes, const std::string& where,
                   ByteOrder order, std::shared_ptr<const void> keeps) {
  const std::size_t count = bytes.size() / dtype.size;
  const bool is_quick =
      dtype.precision == Precision::float32 || dtype.precision == Precision::float64;
  if (keeps && is_quick && count > small_tensor_limit) {
    const auto read = [=, &dtype, keeps = std::move(keeps)](std::size_t i, std::span<double> some) {
      dtype.load(bytes.data() + i * dtype.size, dtype.size, order, some);
    };
    return Values::lazy(count, 1, read);
  }
  Values values = Values::uninitialised(count);
  try {
    dtype.load(bytes.data(), dtype.size, order, values.mutable_span());
  } catch (const InputError& error) {
    refuse(where, error.what());
  }
  return values;
}

std::string_view bytes_of(std::span<const double> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

std::optional<int> rounded_decimals(const NumeralCells& cells, Precision precision) {
  if (precision == Precision::digits) return {};
  const PrecisionRule& rule = rule_of(precision);
  int decimals = 0;
  double power = 1;
  for (const Numeral& cell : cells) {
    const double x = cell.value;
    if (!std::isfinite(x)) continue;
    while (std::abs(std::round(x * power) / power - x) > rule.nearness * std::abs(x)) {
      if (++decimals > rule.decimals) return {};
      power *= 10;
    }
  }
  // Large numbers of few bits always have few decimals: in float16, 141.75 is next to 141.625. Only
  // a number that could hold one more decimal was rounded. Finite masks are ignored.
  std::ptrdiff_t might_have_more = 0;
  for (const Numeral& cell : cells) {
    const double x = std::abs(cell.value);
    if (!std::isfinite(x) || x == 0 || cell.value <= finite_mask) continue;
    might_have_more += rule.nearness * x <= 0.05 / power ? 1 : -1;
  }
  return might_have_more >= 0 ? std::optional(decimals) : std::nullopt;
}

}  // namespace qkv::inline formats
