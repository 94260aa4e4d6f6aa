#pragma once

#include <cmath>

#include "ops/numbers/decimal.hpp"
#include "ops/numbers/expression.hpp"

namespace qkv {

/// The root that a norm divides by.
template <class N>
N root_of(const N& square) {
  return sqrt(square);
}

/// Squares too large for a double leave no norm, rather than one of zeros.
template <>
inline double root_of(const double& square) {
  return std::isinf(square) ? std::nan("") : std::sqrt(square);
}

}  // namespace qkv
