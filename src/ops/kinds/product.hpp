#pragma once

#include "ops/cell.hpp"
#include "ops/kinds/gradient.hpp"
#include "ops/result.hpp"
#include "tensor/matmul.hpp"

namespace qkv::inline ops {

/// First operand times second (or its transpose), matrix by matrix, on the axes of `form`; a third
/// one is added to each row.
Tensor product(const Call& call, const Form& form, RightSide right);

/// The range of such a product, matrix by matrix, from midpoints and radii: at most 1.5 times as
/// wide as the cells' own (Rump, "Fast and parallel interval arithmetic", 1999). Nothing where a
/// bound is infinite.
std::optional<Range> product_range(const Call& call, std::span<const Bounds> operands,
                                   const Tensor& result, RightSide right);

/// One cell of it: a row of the first operand times a column of the second, or a row of it.
template <class N>
N product_cell(const Cell<N>& c, RightSide right) {
  const auto a = c(0);
  const auto b = c(1);
  const bool turned = right == RightSide::transposed;
  const N result = sum<N>(a.columns, [&](std::size_t t) {
    return a(c.row, t) * (turned ? b(c.column, t) : b(t, c.column));
  });
  return c.call->inputs.size() == 3 ? result + c(2)(0, c.column) : result;
}

/// The maths of an operation that is such a product, but for its form.
template <RightSide right>
struct ProductMaths {
  template <class N>
  static N cell(const Cell<N>& c) {
    return product_cell(c, right);
  }

  static std::optional<Range> range(const Call& call, std::span<const Bounds> operands,
                                    const Tensor& result) {
    return product_range(call, operands, result, right);
  }
};

/// One of the two matrices of a product: which operand of the way back, and whether its transpose.
struct Factor {
  std::size_t operand = 0;
  bool turned = false;
};

/// "{0} · {2}ᵀ", and the same with tokens as columns.
Form product_form(std::vector<std::string_view> operands, Factor left, Factor right);

Tensor product_gradient_of(const Call& call, Tensor whole, Factor left, Factor right);

/// The product with other matrices turned over, as far as the sizes allow it.
std::vector<Tensor> transposed_products(const StepView& step, const Form& form, Factor left,
                                        Factor right);

/// The product with another matrix of the lesson in the place of the one that is due.
std::vector<Tensor> products_with_others(const StepView& step, const Form& form, Factor left,
                                         Factor right);

/// The gradient through a matrix product, which is one again. `Own` says which: `axes` of the
/// gradient that arrives, of the operand and of the other one, `left` and `right`.
template <class Own>
struct ProductBackward {
  static Form form(const Call&) {
    return product_form({std::begin(Own::axes), std::end(Own::axes)}, Own::left, Own::right);
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    const auto a = c(Own::left.operand);
    const auto b = c(Own::right.operand);
    return sum<N>(Own::left.turned ? a.rows : a.columns, [&](std::size_t t) {
      return (Own::left.turned ? a(t, c.row) : a(c.row, t)) *
             (Own::right.turned ? b(c.column, t) : b(t, c.column));
    });
  }

  static Tensor compute(const Call& call, Tensor whole) {
    return product_gradient_of(call, std::move(whole), Own::left, Own::right);
  }

  static std::vector<Tensor> turned(const StepView& step) {
    return transposed_products(step, form(call_of(step)), Own::left, Own::right);
  }

  static std::vector<Tensor> of_others(const StepView& step) {
    return products_with_others(step, form(call_of(step)), Own::left, Own::right);
  }
};

/// What learners make of such a gradient.
template <class Own>
inline constexpr Mistake product_backward_mistakes[] = {
    {"backward.transposed", "A matrix of the product was turned over where it should not be.",
     "The gradient has its operand's shape: which side of which matrix meets which?",
     ProductBackward<Own>::turned},
    {"backward.wrong-operand", "The gradient was multiplied by another matrix.",
     "The gradient of one operand is made with the other one.", ProductBackward<Own>::of_others},
    heads_not_summed<ProductBackward<Own>>,
};

/// The operation: `Own` says which product, `words` what is told of it.
template <class Own>
constexpr Operation product_gradient(Operation words) {
  words.mistakes = product_backward_mistakes<Own>;
  return gradient_of<Gradient<ProductBackward<Own>>>(words);
}

}  // namespace qkv::inline ops
