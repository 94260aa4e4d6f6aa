#pragma once

#include "ops/cell.hpp"

namespace qkv {

/// The loss of one row of logits: minus the logarithm of its softmax at the target, or, where
/// targets are shares, the mean of that by the shares.
template <class N>
struct RowLoss {
  MatrixOf<N> logits;
  std::size_t row = 0;
  std::size_t id = 0;                   ///< the target, counted from 0
  const MatrixOf<N>* shares = nullptr;  ///< of each target, where they are given instead

  N value() const;
};

}  // namespace qkv
