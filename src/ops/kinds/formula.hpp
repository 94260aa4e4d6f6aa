#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>

#include "ops/cell.hpp"
#include "ops/kinds/gradient.hpp"
#include "ops/shape_rule.hpp"
#include "tensor/tensor.hpp"

namespace qkv::inline ops {

/// `like` with other numbers: those of a formula over whole arrays of its size.
/// Example: `with_numbers(scores, scores.array() / 8)`
template <class Formula>
Tensor with_numbers(const Tensor& like, const xt::xexpression<Formula>& formula) {
  Tensor result = uninitialised_like(like);
  if (result.values.empty()) return result;
  xt::noalias(result.mutable_array<std::tuple_size_v<typename Formula::shape_type>>()) =
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
  MatrixView operator()(std::size_t k) const { return at_.input(k).matrix(at_.matrix_index(k)); }

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

/// The form of an operation that works cell by cell on two operands: the second has the size of the
/// first, or is one row, one column or one number, which repeats.
Form pairwise_form(const Call& call, std::string_view formula);

/// The second operand's number for a cell.
template <class N>
N beside(const Cell<N>& c) {
  const auto b = c(1);
  return b(b.rows == 1 ? 0 : c.row, b.columns == 1 ? 0 : c.column);
}

/// Whether the two operands are one matrix: what is known of a number then holds of both.
inline bool has_equal_operands(const CellBase& c) { return c.call->inputs[0] == c.call->inputs[1]; }

/// `function` of each number of the first operand and of what stands beside it.
/// Example: `pairwise(call, form(call), std::plus<>())`
template <class Function>
Tensor pairwise(const Call& call, const Form& form, Function function) {
  return by_rows(call, output_of(call, form), 1, [&](const Operands& of, std::span<double> cells) {
    const std::span<const double> a = of.row(0);
    const std::span<const double> b = of.row(1);
    if (b.size() == a.size()) {
      std::ranges::transform(a, b, cells.begin(), function);
    } else {
      std::ranges::transform(a, cells.begin(), [&](double x) { return function(x, b[0]); });
    }
  });
}

/// The axes of an operand that may be one row, one column or one number.
std::string_view axes_that_repeat(const Tensor& operand);

/// The number of an operand that belongs to a cell: of one row, one column or one number the one
/// that repeats.
template <class N>
N repeated(const OperandMatrix<N>& operand, const CellBase& c) {
  return operand(operand.rows == 1 ? 0 : c.row, operand.columns == 1 ? 0 : c.column);
}

/// The form of a gradient whose cells each go back to the cell in the same place.
Form cellwise_form(const Call& call, std::string formula);

/// The gradient that arrives, as it is: through a sum, to either operand.
struct IdentityBackward {
  static Form form(const Call& call) { return cellwise_form(call, "{0}"); }

  template <class N>
  static N cell(const Cell<N>& c) {
    return c(grad_output)(c.row, c.column);
  }

  static Tensor compute(const Call& call, Tensor whole);
};

/// What learners forget where a row or a head is repeated in such a gradient.
template <class Maths>
inline constexpr Mistake cellwise_backward_mistakes[] = {heads_not_summed<Maths>,
                                                         rows_not_summed<Maths>};

}  // namespace qkv::inline ops
