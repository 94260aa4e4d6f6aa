#include "ops/kinds/product_back.hpp"

#include <fmt/format.h>

#include "ops/kinds/formula.hpp"
#include "tensor/parallel.hpp"

namespace qkv {
namespace {

std::string text_of(Factor factor) {
  return fmt::format("{{{}}}{}", factor.operand, factor.turned ? "ᵀ" : "");
}

struct Side {
  std::size_t rows, columns;
};

Side side_of(const Call& call, Factor factor) {
  const Tensor& operand = *call.inputs[factor.operand];
  return factor.turned ? Side{operand.columns(), operand.rows()}
                       : Side{operand.rows(), operand.columns()};
}

bool fits(const Call& call, const Tensor& whole, Factor left, Factor right) {
  const Side a = side_of(call, left);
  const Side b = side_of(call, right);
  return a.columns == b.rows && a.rows == whole.rows() && b.columns == whole.columns();
}

// Aᵀ·B as (Bᵀ·A)ᵀ: beside a large A only what is narrow is turned over.
void multiply_turned(const CellBase& at, Factor left, Factor right, ProductSize size,
                     Tensor& whole) {
  const Tensor& a = at.input(left.operand);
  const Tensor& b = at.input(right.operand);
  const Matrix lines = xt::transpose(b.matrix(at.matching(right.operand)));
  Matrix turned = Matrix::from_shape({size.columns, size.rows});
  multiply({lines.data(), lines.size()}, a.values,
           at.matching(left.operand) * a.rows() * a.columns(), {turned.data(), turned.size()},
           {size.columns, size.inner, size.rows}, RightSide::as_is);
  xt::noalias(whole.write_matrix(at.matrix)) = xt::transpose(turned);
}

}  // namespace

Form product_form(std::vector<std::string_view> operands, Factor left, Factor right) {
  const std::string_view output = operands[own_operand];
  return {std::move(operands), output, text_of(left) + " · " + text_of(right),
          text_of(right) + " · " + text_of(left)};
}

Tensor product_back(const Call& call, Tensor whole, Factor left, Factor right) {
  const Tensor& a = *call.inputs[left.operand];
  const Tensor& b = *call.inputs[right.operand];
  const ProductSize size{whole.rows(), side_of(call, left).columns, whole.columns()};
  multiply_each(whole.matrices(), size, [&](std::size_t m) {
    const CellBase at{.call = &call, .output = &whole, .matrix = m};
    const bool is_large = a.rows() * a.columns() > teaching_numbers && b.columns() < a.columns();
    if (left.turned && !right.turned && is_large) {
      return multiply_turned(at, left, right, size, whole);
    }
    const std::size_t from = at.matching(left.operand);
    const Matrix upright = left.turned ? Matrix(xt::transpose(a.matrix(from))) : Matrix();
    const std::span<const double> lines =
        left.turned ? std::span<const double>(upright.data(), upright.size()) : a.cells(from);
    multiply(lines, b.values, at.matching(right.operand) * b.rows() * b.columns(),
             whole.write_cells(m), size, right.turned ? RightSide::transposed : RightSide::as_is);
  });
  return whole;
}

std::vector<Tensor> turned_products(const Source& step, const Form& form, Factor left,
                                    Factor right) {
  const Call call = call_of(step);
  const Tensor whole = whole_frame(call, form);
  std::vector<Tensor> results;
  for (const bool left_turned : {false, true}) {
    for (const bool right_turned : {false, true}) {
      const Factor a{left.operand, left_turned};
      const Factor b{right.operand, right_turned};
      const bool is_due = left_turned == left.turned && right_turned == right.turned;
      if (is_due || !fits(call, whole, a, b)) continue;
      results.push_back(added_up(call, product_back(call, whole, a, b)));
    }
  }
  return results;
}

std::vector<Tensor> products_of_others(const Source& step, const Form& form, Factor left,
                                       Factor right) {
  const Call due = call_of(step);
  const Tensor whole = whole_frame(due, form);
  std::vector<Tensor> results;
  for (const Source& source : step.all) {
    const bool goes_back = source.operation && is_gradient(*source.operation);
    for (const std::size_t k : {left.operand, right.operand}) {
      if (!source.tensor || source.tensor == due.inputs[k]) continue;
      const bool is_of_its_kind = goes_back == (k == arriving);
      if (!is_of_its_kind || source.tensor->shape() != due.inputs[k]->shape()) continue;
      Call call = due;
      call.inputs[k] = source.tensor;
      results.push_back(added_up(call, product_back(call, whole, left, right)));
    }
  }
  return results;
}

}  // namespace qkv
