#include "ops/kinds/move.hpp"

#include <algorithm>

namespace qkv::inline ops {

Tensor block_of(const Tensor& whole, Tensor part, const Block& block) {
  for (std::size_t m = 0; !part.values.empty() && m < part.matrices(); ++m) {
    xt::noalias(part.mutable_matrix(m)) =
        xt::view(whole.matrix(block.matrix(whole, m)), xt::range(block.rows.from, block.rows.to),
                 xt::range(block.columns.from, block.columns.to));
  }
  return part;
}

Tensor padded(const Tensor& part, Tensor whole, const Block& block) {
  std::ranges::fill(whole.values.mutable_span(), 0.0);
  for (std::size_t m = 0; !part.values.empty() && m < part.matrices(); ++m) {
    auto to = whole.mutable_matrix(block.matrix(whole, m));
    xt::noalias(xt::view(to, xt::range(block.rows.from, block.rows.to),
                         xt::range(block.columns.from, block.columns.to))) = part.matrix(m);
  }
  return whole;
}

}  // namespace qkv::inline ops
