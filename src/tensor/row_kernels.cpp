#include "tensor/matmul.hpp"

#include <bit>

// Compiled for several processors; the program picks the best at run time. With -ffp-contract=off
// all of them give the same bits. tests/unit/tensor/processors.cpp checks that, one processor at a
// time.
#ifndef QKV_FOR_EACH_PROCESSOR
#define QKV_FOR_EACH_PROCESSOR [[gnu::target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")]]
#endif

namespace qkv::inline tensor {
namespace {

constexpr std::size_t lanes = 8;

/// e^x for x ≤ 0, 0 below -708 (Cody and Waite, 1980): x = k·ln 2 + r with |r| ≤ ln 2 / 2; e^r is
/// its Taylor series up to r^13 / 13!; k goes into the exponent's bits.
[[gnu::always_inline]] inline double exp_below_zero(double x) {
  constexpr double smallest = -708;
  constexpr double per_ln2 = 1.4426950408889634;
  constexpr double ln2_high =
      6.93147180369123816490e-01;  // its last bits are 0, so that k times it is exact
  constexpr double ln2_low = 1.90821492927058770002e-10;
  constexpr double to_integer = 6755399441055744.0;  // 1.5 · 2^52: adding it rounds to an integer
  const double inside = x < smallest ? smallest : x;
  const double shifted = inside * per_ln2 + to_integer;
  const double k = shifted - to_integer;
  const double r = (inside - k * ln2_high) - k * ln2_low;
  double series = 1.0 / 6227020800;
  series = series * r + 1.0 / 479001600;
  series = series * r + 1.0 / 39916800;
  series = series * r + 1.0 / 3628800;
  series = series * r + 1.0 / 362880;
  series = series * r + 1.0 / 40320;
  series = series * r + 1.0 / 5040;
  series = series * r + 1.0 / 720;
  series = series * r + 1.0 / 120;
  series = series * r + 1.0 / 24;
  series = series * r + 1.0 / 6;
  series = series * r + 0.5;
  series = series * r + 1.0;
  series = series * r + 1.0;
  const auto exponent = (std::bit_cast<std::uint64_t>(shifted) + 1023) << 52;
  return x < smallest ? 0 : series * std::bit_cast<double>(exponent);
}

template <class Step>
[[gnu::always_inline]] inline std::array<double, lanes> in_lanes(std::size_t size, double start,
                                                                 Step step) {
  std::array<double, lanes> parts;
  parts.fill(start);
  const std::size_t whole = size / lanes * lanes;
  for (std::size_t i = 0; i < whole; i += lanes) {
    for (std::size_t l = 0; l < lanes; ++l) parts[l] = step(parts[l], i + l);
  }
  for (std::size_t i = whole; i < size; ++i) parts[i - whole] = step(parts[i - whole], i);
  return parts;
}

}  // namespace

QKV_FOR_EACH_PROCESSOR
bool softmax_row(std::span<const double> scores, std::span<double> weights) {
  const double* const x = scores.data();
  double* const w = weights.data();
  const std::size_t size = scores.size();
  const auto row_tops =
      in_lanes(size, -std::numeric_limits<double>::infinity(),
               [x](double top, std::size_t i) { return x[i] > top ? x[i] : top; });
  const double top = *std::max_element(row_tops.begin(), row_tops.end());
  if (!std::isfinite(top)) return false;
  for (std::size_t i = 0; i < size; ++i) w[i] = exp_below_zero(x[i] - top);
  const auto sums = in_lanes(size, 0, [w](double sum, std::size_t i) { return sum + w[i]; });
  double total = 0;
  for (const double sum : sums) total += sum;
  for (std::size_t i = 0; i < size; ++i) w[i] /= total;
  return true;
}

QKV_FOR_EACH_PROCESSOR
void tanh_row(std::span<double> cells) {
  double* const x = cells.data();
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const double e = exp_below_zero(-2 * std::abs(x[i]));
    x[i] = std::copysign(1 - 2 * e / (1 + e), x[i]);
  }
}

QKV_FOR_EACH_PROCESSOR
double largest_magnitude(std::span<const double> values) {
  constexpr double most = std::numeric_limits<double>::max();
  const double* const x = values.data();
  const auto largest = in_lanes(values.size(), 0, [x](double top, std::size_t i) {
    const double size = std::abs(x[i]);
    const double finite = size <= most ? size : 0.0;
    return top > finite ? top : finite;
  });
  return *std::ranges::max_element(largest);
}

QKV_FOR_EACH_PROCESSOR
bool all_finite(std::span<const double> values) {
  constexpr double largest = std::numeric_limits<double>::max();
  std::uint64_t found = 0;
  for (const double x : values) found |= std::abs(x) <= largest ? 0U : 1U;
  return found == 0;
}

QKV_FOR_EACH_PROCESSOR
bool has_nan(std::span<const double> values) {
  const double* const x = values.data();
  constexpr std::size_t block = 1024;
  for (std::size_t i = 0; i < values.size(); i += block) {
    const std::size_t end = std::min(values.size(), i + block);
    std::uint64_t found = 0;
    for (std::size_t j = i; j < end; ++j) found |= x[j] != x[j] ? 1U : 0U;
    if (found != 0) return true;
  }
  return false;
}

}  // namespace qkv::inline tensor
