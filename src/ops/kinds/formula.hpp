#pragma once

#include <functional>

#include "ops/cell.hpp"
#include "tensor/tensor.hpp"

namespace qkv {

/// `like` with other numbers: those of a formula over whole arrays of its size.
/// Example: `with_numbers(scores, scores.array() / 8)`
template <class Formula>
Tensor with_numbers(const Tensor& like, const xt::xexpression<Formula>& formula) {
  Tensor result = unwritten_like(like);
  if (result.values.empty()) return result;
  xt::noalias(result.write_array<std::tuple_size_v<typename Formula::shape_type>>()) =
      formula.derived_cast();
  return result;
}

/// `tensor` with each of its matrices put through a formula.
/// Example: `by_matrix(scores, [](const MatrixView& s) -> Matrix { return s - tops(s); })`
Tensor by_matrix(const Tensor& tensor, const std::function<Matrix(const MatrixView&)>& formula);

/// The operands of one matrix, or of one row, of a result. Leading axes of size 1 or missing
/// repeat, and so does the row of a matrix that has only one.
class Operands {
 public:
  explicit Operands(const CellBase& at) : at_(at) {}
  const CellBase& at() const { return at_; }

  /// The matrix of operand `k`, counted from 0.
  MatrixView operator()(std::size_t k) const { return at_.input(k).matrix(at_.matching(k)); }

  /// Its row; read in `scratch` where its numbers are recomputed and need not be kept.
  std::span<const double> row(std::size_t k) const;
  std::span<const double> row(std::size_t k, Scratch& scratch) const;

 private:
  std::size_t first_of_row(std::size_t k) const;

  const CellBase& at_;
};

/// `result` with each of its matrices written by a formula of the operands.
/// Example: `by_operands(call, result, [](const Operands& of) -> Matrix { return of(0) + of(1); })`
Tensor by_operands(const Call& call, Tensor result,
                   const std::function<Matrix(const Operands&)>& formula);

/// The same with the result that a form has.
Tensor by_operands(const Call& call, const Form& form,
                   const std::function<Matrix(const Operands&)>& formula);

/// `result` with each of its rows written by `fill`, several at a time where they are many:
/// `operations` is about how many additions or copies a cell costs.
Tensor by_rows(const Call& call, Tensor result, std::size_t operations,
               const std::function<void(const Operands& of, std::span<double> cells)>& fill);

}  // namespace qkv
