#pragma once

#include <algorithm>
#include <functional>
#include <string_view>

#include "ops/cell.hpp"
#include "ops/kinds/gradient.hpp"
#include "ops/shape_rule.hpp"
#include "tensor/tensor.hpp"

namespace qkv::inline ops {

/// Returns `like` with the numbers of a formula over whole arrays of its size.
/// Example: `with_numbers(scores, scores.array() / 8)`
template <class Formula>
Tensor with_numbers(const Tensor& like, const xt::xexpression<Formula>& formula) {
  Tensor result = uninitialised_like(like);
  if (result.values.empty()) return result;
  xt::noalias(result.mutable_array<std::tuple_size_v<typename Formula::shape_type>>()) =
      formula.derived_cast();
  return result;
}

/// Returns `tensor` with a formula applied to each of its matrices.
/// Example: `by_matrix(scores, [](const MatrixView& s) -> Matrix { return s - tops(s); })`
Tensor by_matrix(const Tensor& tensor, const std::function<Matrix(const MatrixView&)>& formula);

/// The operands of one matrix, or of one row, of a result. Leading axes of size 1 or missing
/// repeat, as does the row of a matrix that has only one.
class Operands {
 public:
  explicit Operands(const CellBase& at) : at_(at) {}
  const CellBase& at() const { return at_; }

  /// Returns the matrix of operand `k`, counted from 0.
  MatrixView operator()(std::size_t k) const { return at_.input(k).matrix(at_.matrix_index(k)); }

  /// Return operand `k`'s row; `scratch` receives lazy values that need not be cached.
  std::span<const double> row(std::size_t k) const;
  std::span<const double> row(std::size_t k, Scratch& scratch) const;

 private:
  std::size_t first_of_row(std::size_t k) const;

  const CellBase& at_;
};

/// Returns `result` with each of its matrices set by a formula of the operands.
/// Example: `by_operands(call, result, [](const Operands& of) -> Matrix { return of(0) + of(1); })`
Tensor by_operands(const Call& call, Tensor result,
                   const std::function<Matrix(const Operands&)>& formula);

/// The same with the result of `form`.
Tensor by_operands(const Call& call, const Form& form,
                   const std::function<Matrix(const Operands&)>& formula);

/// Returns `result` with each of its rows set by `fill`, in parallel if the work is large.
/// `operations` is about how many additions or copies a cell costs.
Tensor by_rows(const Call& call, Tensor result, std::size_t operations,
               const std::function<void(const Operands& of, std::span<double> cells)>& fill);

/// Returns a step's results with each of `changes` made to the parameters of its maths.
/// `parameters_of` returns those of a call, and `computed` the result from both. A change that is
/// impossible returns false.
template <auto parameters_of, auto computed, auto... changes>
Versions with_parameters(const StepView& step) {
  Versions results;
  const Call call = call_of(step);
  const auto add = [&](auto change) {
    auto parameters = parameters_of(call);
    if constexpr (std::is_same_v<decltype(change(parameters)), bool>) {
      if (!change(parameters)) return;
    } else {
      change(parameters);
    }
    results.push_back(computed(call, parameters));
  };
  (add(changes), ...);
  return results;
}

/// Returns the axes of a result of the first operand's kind: it keeps the width behind its scores.
Tensor frame_of_scores(const Call& call, const Form& form);

/// A formula's text as a template argument.
template <std::size_t size>
struct FormulaText {
  char letters[size] = {};

  consteval FormulaText(const char (&text)[size]) {  // NOLINT: a literal is a text
    std::ranges::copy(text, letters);
  }
};

/// The maths of a function of each cell by itself.
/// Example: `CellFunction<"ln {0}", [](const auto& x) { return logarithm(x); }>`
template <FormulaText formula, auto function>
struct CellFunction {
  static Form form(const Call&) { return {{"row column"}, "row column", formula.letters}; }

  template <class N>
  static N cell(const Cell<N>& c) {
    return function(c(0)(c.row, c.column));
  }
};

/// The maths of its gradient, from a cell of the output's gradient and the same of operand `k`.
template <FormulaText formula, std::size_t k, auto function>
struct CellGradient {
  static Form form(const Call&) { return {{"row column"}, "row column", formula.letters}; }

  template <class N>
  static N cell(const Cell<N>& c) {
    return function(c(grad_output)(c.row, c.column), c(k)(c.row, c.column));
  }
};

/// Returns the form of a cell-by-cell operation on two operands. The second has the size of the
/// first, or is one row, one column or one number, which repeats.
Form pairwise_form(const Call& call, std::string_view formula);

/// Returns the second operand's number for a cell.
template <class N>
N beside(const Cell<N>& c) {
  const auto b = c(1);
  return b(b.rows == 1 ? 0 : c.row, b.columns == 1 ? 0 : c.column);
}

/// True if both operands are one matrix: bounds of a number then hold for both.
inline bool has_equal_operands(const CellBase& c) { return c.call->inputs[0] == c.call->inputs[1]; }

/// Returns `function` of each number of the first operand and the second's for the same cell.
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

/// Returns the axes of an operand that may be one row, one column or one number.
std::string_view axes_that_repeat(const Tensor& operand);

/// Returns an operand's number for a cell; one row, one column or one number repeats.
template <class N>
N repeated(const OperandMatrix<N>& operand, const CellBase& c) {
  return operand(operand.rows == 1 ? 0 : c.row, operand.columns == 1 ? 0 : c.column);
}

/// Returns the form of a gradient whose cells each depend on the cell in the same place.
Form cellwise_form(const Call& call, std::string formula);

/// The maths of a gradient from the output's gradient and `operands` at the same place.
/// Example: `CellwiseGradient<"{0} / {2}", std::divides<>{}, first_saved>`
template <FormulaText formula, auto function, std::size_t... operands>
struct CellwiseGradient {
  static Form form(const Call& call) { return cellwise_form(call, formula.letters); }

  template <class N>
  static N cell(const Cell<N>& c) {
    return function(c(grad_output)(c.row, c.column), repeated(c(operands), c)...);
  }
};

/// The gradient of the output, unchanged: the gradient of a sum, to either operand.
struct IdentityBackward : CellwiseGradient<"{0}", std::identity{}> {
  static Tensor compute(const Call& call, Tensor whole);
};

/// Mistakes of such a gradient if a row or a head of the operand is repeated.
template <class Maths>
inline constexpr Mistake cellwise_backward_mistakes[] = {heads_not_summed<Maths>,
                                                         rows_not_summed<Maths>};

}  // namespace qkv::inline ops
