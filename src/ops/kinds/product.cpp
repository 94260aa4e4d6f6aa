#include "ops/kinds/product.hpp"

namespace qkv::inline ops {
namespace {

std::string text_of(Factor factor) {
  return fmt::format("{{{}}}{}", factor.operand, factor.transposed ? "ᵀ" : "");
}

Shape factor_shape(const Call& call, Factor factor) {
  const Tensor& operand = *call.inputs[factor.operand];
  const Shape shape = {operand.rows(), operand.columns()};
  return factor.transposed ? transposed(shape) : shape;
}

bool fits(const Call& call, const Tensor& whole, Factor left, Factor right) {
  const Shape a = factor_shape(call, left);
  const Shape b = factor_shape(call, right);
  return a[1] == b[0] && a[0] == whole.rows() && b[1] == whole.columns();
}

// Aᵀ·B as (Bᵀ·A)ᵀ: with a large A, only the narrow matrices are transposed.
void multiply_transposed(const CellBase& at, Factor left, Factor right, ProductSize size,
                         Tensor& whole) {
  const Tensor& a = at.input(left.operand);
  const Tensor& b = at.input(right.operand);
  const Matrix lines = xt::transpose(b.matrix(at.matrix_index(right.operand)));
  Matrix transposed = Matrix::from_shape({size.columns, size.rows});
  multiply({lines.data(), lines.size()}, a.values,
           at.matrix_index(left.operand) * a.rows() * a.columns(),
           {transposed.data(), transposed.size()}, {size.columns, size.inner, size.rows},
           RightSide::as_is);
  xt::noalias(whole.mutable_matrix(at.matrix)) = xt::transpose(transposed);
}

void add_to_each_row(std::span<double> matrix, std::span<const double> bias) {
  for (std::size_t i = 0; i < matrix.size(); i += bias.size()) {
    for (std::size_t j = 0; j < bias.size(); ++j) matrix[i + j] += bias[j];
  }
}

// Intervals as midpoints, the midpoints' magnitudes, and radii.
struct MidRadius {
  Tensor middle, size, radius;
  bool exact;          // no radius anywhere
  bool finite = true;  // nothing infinite

  explicit MidRadius(const Bounds& bounds)
      : middle(*bounds.low), exact(middle.values.shares(bounds.high->values)) {
    if (!exact) {
      const auto low = bounds.low->array();
      const auto high = bounds.high->array();
      middle = with_numbers(middle, low + (high - low) / 2);
      radius = with_numbers(middle, xt::maximum(high - middle.array(), middle.array() - low));
      exact = std::ranges::all_of(radius.values, [](double r) { return r == 0; });
    }
    (exact ? middle : radius).values.for_each_piece([&](std::span<const double> piece) {
      finite = finite && all_finite(piece);
    });
    size = middle;
    if (middle.values.empty()) return;  // a product over nothing
    size.values = Values::lazy(middle.values, middle.columns(), [](auto, std::span<double> line) {
      for (double& x : line) x = std::abs(x);
    });
  }
};

}  // namespace

Form product_form(std::vector<std::string_view> operands, std::string_view output, Factor left,
                  Factor right) {
  return {std::move(operands), output, text_of(left) + " · " + text_of(right),
          text_of(right) + " · " + text_of(left)};
}

Tensor product_of(const Call& call, Tensor whole, Factor left, Factor right) {
  const Tensor& a = *call.inputs[left.operand];
  const Tensor& b = *call.inputs[right.operand];
  const ProductSize size{whole.rows(), factor_shape(call, left)[1], whole.columns()};
  for_each_product(whole.matrices(), size, [&](std::size_t m) {
    const CellBase at{.call = &call, .output = &whole, .matrix = m};
    const bool is_large = a.rows() * a.columns() > small_tensor_limit && b.columns() < a.columns();
    if (left.transposed && !right.transposed && is_large) {
      return multiply_transposed(at, left, right, size, whole);
    }
    const std::size_t from = at.matrix_index(left.operand);
    const Matrix upright = left.transposed ? Matrix(xt::transpose(a.matrix(from))) : Matrix();
    const std::span<const double> lines =
        left.transposed ? std::span<const double>(upright.data(), upright.size()) : a.cells(from);
    multiply(lines, b.values, at.matrix_index(right.operand) * b.rows() * b.columns(),
             whole.mutable_cells(m), size,
             right.transposed ? RightSide::transposed : RightSide::as_is);
  });
  return whole;
}

Versions transposed_products(const StepView& step, const Form& form, Factor left, Factor right) {
  const Call call = call_of(step);
  const Tensor whole = broadcast_frame(call, form);
  Versions results;
  for (const bool left_transposed : {false, true}) {
    for (const bool right_transposed : {false, true}) {
      const Factor a{left.operand, left_transposed};
      const Factor b{right.operand, right_transposed};
      const bool is_expected =
          left_transposed == left.transposed && right_transposed == right.transposed;
      if (is_expected || !fits(call, whole, a, b)) continue;
      results.push_back(unbroadcast(call, product_of(call, whole, a, b)));
    }
  }
  return results;
}

// The gradient of the step's output before it was scaled; nullptr if it was not.
const Tensor* unscaled_gradient(const StepView& step) {
  const StepView& made = *step.inputs[grad_output];
  const Mistake* skipped =
      made.operation ? find_by(made.operation->mistakes, gradient_unscaled(Skip{}).id, &Mistake::id)
                     : nullptr;
  const bool is_scaled = skipped && std::holds_alternative<Skip>(skipped->change);
  return is_scaled ? made.inputs[grad_output]->tensor : nullptr;
}

Versions product_unscaled(const StepView& step) {
  const Tensor* gradient = unscaled_gradient(step);
  return gradient ? Versions{with_operand(step, grad_output, *gradient)} : Versions();
}

Versions products_with_others(const StepView& step, const Form& form, Factor left, Factor right,
                              std::size_t k) {
  const Call expected = call_of(step);
  const Tensor whole = broadcast_frame(expected, form);
  // Grouped queries share keys, which have fewer heads.
  const auto has_place = [&](const Tensor& tensor, const Tensor& operand) {
    if (tensor.shape() == operand.shape()) return true;
    if (tensor.rank() != operand.rank() || tensor.rank() != whole.rank()) return false;
    for (std::size_t a = 0; a < tensor.rank(); ++a) {
      const std::size_t size = tensor.axes[a].size;
      const bool is_shared =
          a < tensor.leading_axes() && size > 0 && whole.axes[a].size % size == 0;
      if (size != operand.axes[a].size && !is_shared) return false;
    }
    return true;
  };
  const Tensor* unscaled = unscaled_gradient(step);
  std::set<const StepView*> later;  // what is computed from this step cannot be its operand
  Versions results;
  for (const StepView& source : step.all) {
    const auto is_later = [&](const StepView* input) { return later.contains(input); };
    if (source.name == step.name || std::ranges::any_of(source.inputs, is_later)) {
      later.insert(&source);
      continue;
    }
    const bool goes_back = source.operation && is_gradient(*source.operation);
    if (!source.tensor || source.tensor == expected.inputs[k]) continue;
    const bool is_of_its_kind = goes_back == (k == grad_output);
    if (!is_of_its_kind || !has_place(*source.tensor, *expected.inputs[k])) continue;
    if (goes_back && unscaled && std::ranges::equal(source.tensor->values, unscaled->values))
      continue;
    Call call = expected;
    call.inputs[k] = source.tensor;
    results.push_back(unbroadcast(call, product_of(call, whole, left, right)));
  }
  return results;
}

Tensor product(const Call& call, const Form& form, RightSide right) {
  Tensor result =
      product_of(call, output_of(call, form), {0, false}, {1, right == RightSide::transposed});
  if (call.inputs.size() < 3) return result;
  for_each_product(result.matrices(), {result.rows(), 1, result.columns()}, [&](std::size_t m) {
    const CellBase at{.call = &call, .output = &result, .matrix = m};
    add_to_each_row(result.mutable_cells(m), call.inputs[2]->cells(at.matrix_index(2)));
  });
  return result;
}

std::optional<Range> product_range(const Call& call, std::span<const Bounds> operands,
                                   const Tensor& result, RightSide right) {
  const MidRadius a(operands[0]);
  const MidRadius b(operands[1]);
  if (!a.finite || !b.finite) return {};
  const ProductSize size{result.rows(), a.middle.columns(), result.columns()};
  Range range{uninitialised(result.axes), uninitialised(result.axes)};
  CellBase at{.call = &call, .output = &result};
  for (; at.matrix < result.matrices(); ++at.matrix) {
    const auto times = [&](const Tensor& left, const Tensor& other) {
      Matrix out = Matrix::from_shape({size.rows, size.columns});
      multiply(left.cells(at.matrix_index(0)), other.values,
               at.matrix_index(1) * other.rows() * other.columns(), std::span(out.storage()), size,
               right);
      return out;
    };
    const Matrix middle = times(a.middle, b.middle);
    Matrix radius = xt::zeros_like(middle);
    if (!b.exact) radius += times(a.size, b.radius);
    if (!a.exact) radius += times(a.radius, b.size);
    if (!a.exact && !b.exact) radius += times(a.radius, b.radius);
    xt::noalias(range.low.mutable_matrix(at.matrix)) = middle - radius;
    xt::noalias(range.high.mutable_matrix(at.matrix)) = middle + radius;
    if (call.inputs.size() < 3) continue;
    const std::size_t bias = at.matrix_index(2);
    add_to_each_row(range.low.mutable_cells(at.matrix), operands[2].low->cells(bias));
    add_to_each_row(range.high.mutable_cells(at.matrix), operands[2].high->cells(bias));
  }
  return range;
}

}  // namespace qkv::inline ops
