#pragma once

#include "ops/kinds/gradient.hpp"
#include "tensor/matmul.hpp"

namespace qkv::inline ops {

/// Returns the first operand times the second (or its transpose), matrix by matrix, on the axes of
/// `form`. A third operand is added to each row.
Tensor product(const Call& call, const Form& form, RightSide right);

/// Returns the range of such a product from midpoints and radii, at most 1.5 times as wide as the
/// cells' own (Rump, "Fast and parallel interval arithmetic", 1999). Nothing if a bound is
/// infinite.
std::optional<Range> product_range(const Call& call, std::span<const Bounds> operands,
                                   const Tensor& result, RightSide right);

/// A factor of a product: which operand, and whether it is transposed.
struct Factor {
  std::size_t operand = 0;
  bool transposed = false;
};

/// Returns the form "{0} · {2}ᵀ", with its formula for tokens as columns.
Form product_form(std::vector<std::string_view> operands, std::string_view output, Factor left,
                  Factor right);

/// Returns `whole` with the product of two operands.
Tensor product_of(const Call& call, Tensor whole, Factor left, Factor right);

/// Returns one cell of it.
template <class N>
N product_cell(const Cell<N>& c, Factor left, Factor right) {
  const auto a = c(left.operand);
  const auto b = c(right.operand);
  return sum<N>(left.transposed ? a.rows : a.columns, [&](std::size_t t) {
    return (left.transposed ? a(t, c.row) : a(c.row, t)) *
           (right.transposed ? b(c.column, t) : b(t, c.column));
  });
}

/// The same for the first operand times the second; a third is added to each row.
template <class N>
N product_cell(const Cell<N>& c, RightSide right) {
  const N result = product_cell(c, {0, false}, {1, right == RightSide::transposed});
  return c.call->inputs.size() == 3 ? result + c(2)(0, c.column) : result;
}

/// The axes of a product's result and of both factors; `right` says how the second one is stored.
/// Where `keeps_width`, a later step can scale the result by the number of its terms.
struct RowsTimesColumns {
  static constexpr std::string_view result = "row column";
  static constexpr std::string_view first = "row inner", second = "inner column";
  static constexpr RightSide right = RightSide::as_is;
  static constexpr bool shares_heads = false, keeps_width = true;
};

/// The same for values that are mixed by weights.
struct WeightsTimesValues {
  static constexpr std::string_view result = "query d_v";
  static constexpr std::string_view first = "query key", second = "key d_v";
  static constexpr RightSide right = RightSide::as_is;
  static constexpr bool shares_heads = true, keeps_width = false;
};

/// The maths of such a product, with the axes of `Axes`.
template <class Axes>
struct ProductMaths {
  static constexpr bool is_uniform = true;
  static Form form(const Call&) {
    Form form = product_form({Axes::first, Axes::second}, Axes::result, {0, false},
                             {1, Axes::right == RightSide::transposed});
    form.shares_heads = Axes::shares_heads;
    return form;
  }

  static auto cell(const auto& c) { return product_cell(c, Axes::right); }

  static Tensor compute(const Call& call) {
    Tensor result = product(call, form(call), Axes::right);
    if (Axes::keeps_width) result.dot_width = call.inputs[0]->columns();
    return result;
  }

  static std::optional<Range> range(const Call& call, std::span<const Bounds> operands,
                                    const Tensor& result) {
    return product_range(call, operands, result, Axes::right);
  }
};

/// What makes the gradient of C = A·B, or A·Bᵀ, to its first factor: dC·Bᵀ, or dC·B.
template <class Axes>
struct ToFirst {
  static constexpr std::string_view axes[] = {Axes::result, Axes::first, Axes::second};
  static constexpr Factor left{grad_output, false};
  static constexpr Factor right{saved_other, Axes::right == RightSide::as_is};
};

/// To its second: Aᵀ·dC, or dCᵀ·A.
template <class Axes>
struct ToSecond {
  static constexpr bool is_upright = Axes::right == RightSide::as_is;
  static constexpr std::string_view axes[] = {Axes::result, Axes::second, Axes::first};
  static constexpr Factor left{is_upright ? saved_other : grad_output, true};
  static constexpr Factor right{is_upright ? grad_output : saved_other, false};
};

/// Returns the products with other factors transposed, where the sizes allow it.
Versions transposed_products(const StepView& step, const Form& form, Factor left, Factor right);

/// Returns the products with another matrix of the lesson in place of operand `k`.
Versions products_with_others(const StepView& step, const Form& form, Factor left, Factor right,
                              std::size_t k);

/// Returns the product with the output's gradient as it was before it was scaled, if it was.
Versions product_unscaled(const StepView& step);

/// The gradient of a matrix product, itself a product. `Own` has the `axes` of the output's
/// gradient, of the operand and of the other one, and the factors `left` and `right`.
template <class Own>
struct ProductBackward {
  static Form form(const Call&) {
    return product_form({std::begin(Own::axes), std::end(Own::axes)}, Own::axes[self], Own::left,
                        Own::right);
  }

  static auto cell(const auto& c) { return product_cell(c, Own::left, Own::right); }

  static Tensor compute(const Call& call, Tensor whole) {
    return product_of(call, std::move(whole), Own::left, Own::right);
  }

  static Versions with_transposed(const StepView& step) {
    return transposed_products(step, form(call_of(step)), Own::left, Own::right);
  }

  template <std::size_t k>
  static Versions of_others(const StepView& step) {
    return products_with_others(step, form(call_of(step)), Own::left, Own::right, k);
  }
};

/// Mistakes of such a gradient.
template <class Own>
inline constexpr Mistake product_backward_mistakes[] = {
    {"backward.transposed", "A matrix of the product was transposed where it should not be.",
     "The gradient has its operand's shape: which side of which matrix meets which?",
     ProductBackward<Own>::with_transposed},
    {"backward.wrong-operand", "The gradient was multiplied by another matrix.",
     "The gradient of one operand is made with the other one.",
     ProductBackward<Own>::template of_others<saved_other>},
    {"backward.wrong-operand", "Another gradient was multiplied in place of {0}.",
     "A product sends back the gradient of its own result.",
     ProductBackward<Own>::template of_others<grad_output>},
    gradient_unscaled(product_unscaled),
    heads_not_summed<ProductBackward<Own>>,
};

/// The gradient of the product `Own` with what every such gradient needs.
template <class Own, const GradientWords& its_words>
struct ProductGradient : ProductBackward<Own> {
  static constexpr GradientWords words = its_words;
  static constexpr Role needs[] = {Role::other};
  static constexpr std::span<const Mistake> mistakes = product_backward_mistakes<Own>;
};

/// The gradient to the first factor of a product with these axes, and to its second.
template <class Axes, const GradientWords& words>
using GradFirst = ProductGradient<ToFirst<Axes>, words>;
template <class Axes, const GradientWords& words>
using GradSecond = ProductGradient<ToSecond<Axes>, words>;

}  // namespace qkv::inline ops
