#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>

#include "tensor/tensor.hpp"

namespace qkv {

/// Small whole numbers, the same on every machine: the standard fixes what mt19937 gives, but not
/// what its distributions make of it.
class Dice {
 public:
  explicit Dice(std::uint32_t seed) : engine_(seed) {}
  std::size_t below(std::size_t count) { return engine_() % count; }
  double pick(std::span<const double> from) { return from[below(from.size())]; }
  /// Between -1 and 1, with many digits.
  double any_number() {
    return 2 * static_cast<double>(engine_()) / static_cast<double>(std::mt19937::max()) - 1;
  }

 private:
  std::mt19937 engine_;
};

/// A weight with two or three numbers in each column, so that a product has as many terms however
/// wide the model is, and with no row of zeros.
Tensor drawn_weight(const Shape& shape, Dice& dice);

/// How many rows are nothing but zeros: they give nothing to work out.
std::size_t zero_rows(const Tensor& tensor);

/// Whether two rows of the first matrix are equal.
bool has_equal_rows(const Tensor& tensor);

/// How many pairs of numbers of the same column are equal: exchanged, they would look right.
std::size_t equal_pairs(const Tensor& tensor);

/// How many numbers are further from 0 than `largest`.
std::size_t larger_than(const Tensor& tensor, double largest);

/// How many attention weights leave nearly nothing, or have nearly all; 0 and 1 are as they should.
std::size_t lopsided_weights(const Tensor& weights);

}  // namespace qkv
