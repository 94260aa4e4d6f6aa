#pragma once

#include <numbers>
#include <numeric>

#include "ops/cell.hpp"

/// What operations of every kind need: functions of numbers, formulas over matrices and over rows.

namespace qkv::inline ops {

/// Returns e^(x − top), with limits where infinities are subtracted: a hidden score adds nothing,
/// even if all are hidden, and scores of +inf share the row equally.
inline double power(double x, double top) {
  if (x == -infinity) return 0;
  return top == infinity ? (x == infinity ? 1 : 0) : std::exp(x - top);
}

inline Expression power(const Expression& x, const Expression& top) {
  if (x.value() == infinity) return 1.0;  // as above: inf − inf has no value
  if (x.value() == -infinity && top.value() == -infinity) return 0.0;
  return exp(x - top);
}

inline Decimal power(const Decimal& x, const Decimal& top) {
  return x.value() == -infinity ? Decimal(0.0) : exp(x - top);
}

inline Interval power(Interval x, Interval top) {
  return {power(x.low, top.high), power(x.high, top.low)};
}

/// Returns the larger of two numbers; NaN if either is NaN.
inline double nan_max(double a, double b) { return a >= b || std::isnan(a) ? a : b; }
inline Interval nan_max(Interval a, Interval b) {
  return {nan_max(a.low, b.low), nan_max(a.high, b.high)};
}
/// An unknown number may be the largest.
inline Decimal nan_max(const Decimal& a, const Decimal& b) {
  if (!a.is_exact() || !b.is_exact()) return Decimal::unknown();
  return a.value() >= b.value() ? a : b;
}

/// Returns the largest of term(0), term(1), …; `count` must be at least 1.
template <class N, class Term>
N nan_max_of(std::size_t count, Term term) {
  if constexpr (std::is_same_v<N, Expression>) {
    return expression_of(Expression::Kind::maximum, count, term);
  } else {
    N top = term(0);
    for (std::size_t t = 1; t < count; ++t) top = nan_max(top, term(t));
    return top;
  }
}

template <class N>
N squared(const N& x) {
  return x * x;
}

/// Returns the root that a norm divides by.
template <class N>
N root_of(const N& square) {
  return sqrt(square);
}

/// Squares too large for a double give NaN, not a norm of zeros.
template <>
inline double root_of(const double& square) {
  return std::isinf(square) ? std::nan("") : std::sqrt(square);
}

inline double opposite(double x) { return -x; }
inline Expression opposite(const Expression& x) {
  return Expression::of(Expression::Kind::negative, {x});
}
inline Decimal opposite(Decimal x) { return Decimal(0.0) - x; }

/// Returns 1 / (1 + e^(−x)), between 0 and 1.
template <class N>
N sigmoid(const N& x) {
  using std::exp;
  return N(1.0) / (N(1.0) + exp(opposite(x)));
}

/// Returns x / (1 + e^(−1.702 x)), which some take for GELU or SiLU, of a cell's number.
inline double quick_gelu(const Cell<double>& c) {
  const double x = c(0)(c.row, c.column);
  return x / (1 + std::exp(-1.702 * x));
}

/// Monotone: the ends give the range.
inline Interval sigmoid(Interval x) { return {sigmoid(x.low), sigmoid(x.high)}; }

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
  /// True if the result is larger than a lesson shows: faster kernels may change its last bits.
  bool is_large() const { return at_.output->values.size() > small_tensor_limit; }

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

/// Returns `result` with each of its rows set by `fill`, in parallel if the work is large.
/// `operations` is about how many additions or copies a cell costs.
Tensor by_rows(const Call& call, Tensor result, std::size_t operations,
               const std::function<void(const Operands& of, std::span<double> cells)>& fill);

/// Returns the form with its formula for tokens as columns: "row" and "column" change places.
Form with_columns(Form form);

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
