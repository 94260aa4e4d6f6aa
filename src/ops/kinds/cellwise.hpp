#pragma once

#include "ops/kinds/gradient.hpp"

namespace qkv::inline ops {

/// Operations whose cells each depend on the operands' cells in the same place.

/// The maths of a function of each cell by itself.
/// Example: `CellFunction<"ln {0}", [](const auto& x) { return logarithm(x); }>`
template <FormulaText formula, auto function>
struct CellFunction : FixedForm<formula> {
  static auto cell(const auto& c) { return function(c(0)(c.row, c.column)); }

  static void fill_row(const Operands& of, std::span<double> cells) {
    std::ranges::transform(of.row(0), cells.begin(), function);
  }
};

/// Returns the kernel that replaces each cell by `function` of it.
template <class Function>
InPlaceKernel cellwise_kernel(Tensor frame, Function function) {
  const auto work = [function](const RowPart& row) {
    for (double& cell : row.cells) cell = function(cell);
  };
  return {std::move(frame), work, true};
}

/// Returns the range of a function over an interval: at the ends, or at a turning point in between.
template <class Function>
Interval range_with_turns(Interval x, std::initializer_list<double> turns, Function function) {
  Interval found = hull(function(x.low), function(x.high));
  for (const double turn : turns) {
    if (x.low < turn && turn < x.high) found = hull(found, function(turn));
  }
  return found;
}

/// Returns an operand's number for a cell; one row, one column or one number repeats.
template <class N>
N repeated(const OperandMatrix<N>& operand, const CellBase& c) {
  return operand(operand.rows == 1 ? 0 : c.row, operand.columns == 1 ? 0 : c.column);
}

/// Returns the axes of operand `k`, which has the size of the first one, or is one row, one column
/// or one number, which repeats.
std::string_view axes_that_repeat(const Call& call, std::size_t k);

/// Returns the form of a step whose cells each depend on the operands' cells in the same place.
Form cellwise_form(const Call& call, std::string formula);

/// The maths of a function of two operands' cells. `of_same` is its interval if both operands are
/// one matrix, whose number is then the same twice.
/// Example: `Pairwise<"{0} + {1}", std::plus<>{}>`
template <FormulaText formula, auto function, auto of_same = nullptr>
struct Pairwise {
  static constexpr std::size_t operations = 1;

  static Form form(const Call& call) { return cellwise_form(call, formula.letters); }

  template <class N>
  static N cell(const Cell<N>& c) {
    const N a = c(0)(c.row, c.column);
    if constexpr (std::is_same_v<N, Interval> && !std::is_null_pointer_v<decltype(of_same)>) {
      if (c.call->inputs[0] == c.call->inputs[1]) return of_same(a);
    }
    return function(a, repeated(c(1), c));
  }

  static void fill_row(const Operands& of, std::span<double> cells) {
    const std::span<const double> a = of.row(0);
    const std::span<const double> b = of.row(1);
    if (b.size() == a.size()) {
      std::ranges::transform(a, b, cells.begin(), function);
    } else {
      std::ranges::transform(a, cells.begin(), [&](double x) { return function(x, b[0]); });
    }
  }
};

/// Returns what the step's result is multiplied by later, if it is a gate.
Versions other_factor(const StepView& step);
inline constexpr Mistake other_factor_taken{
    "swiglu.swapped", "The function was applied to what the gate is multiplied by.",
    "Apply it to the gate.", Operand{0, other_factor}};

/// A row of an operand, or its one number that stands for all of a row.
struct RepeatedRow {
  std::span<const double> numbers;

  double operator()(std::size_t j) const { return numbers[numbers.size() == 1 ? 0 : j]; }
};

/// The maths of a gradient from the cells of the output's gradient and of the tensors with these
/// roles. One row, one column or one number repeats.
/// Example: `CellwiseGradient<"{0} / {2}", std::divides<>{}, Role::other>`
template <FormulaText formula, auto function, Role... roles>
struct CellwiseGradient {
  static constexpr std::array<Role, sizeof...(roles)> all = {roles...};
  static constexpr std::size_t own = static_cast<std::size_t>(std::ranges::count(all, Role::self));
  static constexpr std::array<Role, sizeof...(roles) - own> needs = [] {
    std::array<Role, sizeof...(roles) - own> others = {};
    std::ranges::remove_copy(all, others.begin(), Role::self);
    return others;
  }();

  static Form form(const Call& call) { return cellwise_form(call, formula.letters); }

  static auto cell(const auto& c) {
    return [&]<std::size_t... i>(std::index_sequence<i...>) {
      return function(repeated(c(grad_output), c), repeated(c(operand_of(i)), c)...);
    }
    (std::make_index_sequence<sizeof...(roles)>());
  }

  static void fill_row(const Operands& of, std::span<double> cells) {
    [&]<std::size_t... i>(std::index_sequence<i...>) {
      const RepeatedRow change{of.row(grad_output)};
      [[maybe_unused]] const std::array<RepeatedRow, sizeof...(roles)> rows = {
          RepeatedRow{of.row(operand_of(i))}...};
      for (std::size_t j = 0; j < cells.size(); ++j) cells[j] = function(change(j), rows[i](j)...);
    }
    (std::make_index_sequence<sizeof...(roles)>());
  }

  // The gradient operation's operand that has role i.
  static constexpr std::size_t operand_of(std::size_t i) {
    if (all[i] == Role::self) return self;
    return saved(
        i - static_cast<std::size_t>(std::ranges::count(all.begin(), all.begin() + i, Role::self)));
  }
};

/// The gradient of the output, unchanged: the gradient of a sum, to either operand.
struct IdentityBackward : CellwiseGradient<"{0}", std::identity{}> {
  static Tensor compute(const Call& call, Tensor whole);
};

/// The gradient of a bias that was added to every row.
template <FormulaText formula>
struct BiasBackward : IdentityBackward {
  static constexpr GradientWords words{
      "Back to the bias",
      "The bias was added to every row, so its gradient is the sum over all rows.",
      "One number for each feature."};

  static constexpr std::string_view code = "{r0}";

  static Form form(const Call&) {
    return with_columns({{"row column", "1 column"}, "row column", formula.letters});
  }
};

}  // namespace qkv::inline ops
