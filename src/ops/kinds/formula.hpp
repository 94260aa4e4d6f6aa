#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <numeric>
#include <string_view>
#include <vector>

#include "ops/catalogue.hpp"
#include "ops/cell.hpp"
#include "ops/numbers/functions.hpp"
#include "ops/result.hpp"
#include "ops/shape_rule.hpp"
#include "tensor/parallel.hpp"
#include "tensor/tensor.hpp"

/// What operations of every kind need: functions of numbers, formulas over matrices and over rows.
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

/// Returns the form with its formula for tokens as columns: "row" and "column" change places.
Form with_columns(Form form);

/// A formula's text as a template argument.
template <std::size_t size>
struct FormulaText {
  char letters[size] = {};

  consteval FormulaText(const char (&text)[size]) {  // NOLINT: a literal is a text
    std::ranges::copy(text, letters);
  }
};

/// A base of operations whose form is the same for every call: their formula, the axes of the
/// result, and those of each operand if they differ. The last ones serve all that follow.
/// Example: `FixedForm<"e^({0} − {1})", "query key", "query key", "query 1">`
template <FormulaText formula, FormulaText output = "row column", FormulaText... operands>
struct FixedForm {
  static Form form(const Call&) {
    if constexpr (sizeof...(operands) == 0) {
      return {{output.letters}, output.letters, formula.letters};
    } else {
      return {{operands.letters...}, output.letters, formula.letters};
    }
  }
};

/// The same, with "row" and "column" exchanged in the formula if tokens are columns.
template <FormulaText formula, FormulaText output = "row column", FormulaText... operands>
struct FormByRows {
  static Form form(const Call& call) {
    return with_columns(FixedForm<formula, output, operands...>::form(call));
  }
};

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

}  // namespace qkv::inline ops
