#pragma once

#include <functional>

#include "ops/operation.hpp"
#include "tensor/xt.hpp"

namespace qkv {

/// `like` with other numbers: those of a formula over whole arrays of its size.
/// Example: `with_numbers(scores, scores.array() / 8)`
template <class Formula>
Tensor with_numbers(const Tensor& like, const xt::xexpression<Formula>& formula) {
  Tensor result = unwritten(like.axes);
  result.dot_width = like.dot_width;
  if (result.values.empty()) return result;
  xt::noalias(result.write_array<std::tuple_size_v<typename Formula::shape_type>>()) =
      formula.derived_cast();
  return result;
}

/// `tensor` with each of its matrices put through a formula.
/// Example: `by_matrix(scores, [](const MatrixView& s) -> Matrix { return s - tops(s); })`
Tensor by_matrix(const Tensor& tensor, const std::function<Matrix(const MatrixView&)>& formula);

/// The operands of one matrix of a result: `operand(1)` is the second operand's matrix that goes
/// with it, leading axes of size 1 or missing repeating.
class Operands {
 public:
  explicit Operands(const CellBase& at) : at_(at) {}
  MatrixView operator()(std::size_t k) const { return at_.input(k).matrix(at_.matching(k)); }
  const CellBase& at() const { return at_; }

 private:
  const CellBase& at_;
};

/// `result` with each of its matrices written by a formula of the operands.
/// Example: `by_operands(call, result, [](const Operands& of) -> Matrix { return of(0) + of(1); })`
Tensor by_operands(const Call& call, Tensor result,
                   const std::function<Matrix(const Operands&)>& formula);

}  // namespace qkv
