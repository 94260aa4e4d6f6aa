#include "ops/kinds/product.hpp"

#include <algorithm>
#include <cmath>

#include "ops/kinds/formula.hpp"
#include "ops/shape_rule.hpp"

namespace qkv {
namespace {

void add_to_each_row(std::span<double> matrix, std::span<const double> bias) {
  for (std::size_t i = 0; i < matrix.size(); i += bias.size()) {
    for (std::size_t j = 0; j < bias.size(); ++j) matrix[i + j] += bias[j];
  }
}

// Intervals as their middles, how far these are from 0, and how far the ends are from them.
struct MidRadius {
  Tensor middle, size, radius;
  bool exact, finite;  // no radius anywhere; nothing infinite

  explicit MidRadius(const Bounds& bounds) {
    const Tensor& like = *bounds.low;
    const auto low = bounds.low->array();
    const auto high = bounds.high->array();
    middle = with_numbers(like, low + (high - low) / 2);
    size = with_numbers(like, xt::abs(middle.array()));
    radius = with_numbers(like, xt::maximum(high - middle.array(), middle.array() - low));
    exact = std::ranges::all_of(radius.values, [](double r) { return r == 0; });
    finite = std::ranges::all_of(radius.values, [](double r) { return std::isfinite(r); });
  }
};

}  // namespace

Tensor product(const Call& call, const Form& form, RightSide right) {
  Tensor result = output_of(call, form);
  const Tensor& a = *call.inputs[0];
  const Values& b = call.inputs[1]->values;
  const ProductSize size{result.rows(), a.columns(), result.columns()};
  multiply_each(result.matrices(), size, [&](std::size_t m) {
    const CellBase at{.call = &call, .output = &result, .matrix = m};
    const std::span<double> cells = result.write_cells(m);
    multiply(a.cells(at.matching(0)), b, at.matching(1) * size.inner * size.columns, cells, size,
             right);
    if (call.inputs.size() == 3) add_to_each_row(cells, call.inputs[2]->cells(at.matching(2)));
  });
  return result;
}

std::optional<Range> product_range(const Call& call, std::span<const Bounds> operands,
                                   const Tensor& result, RightSide right) {
  const MidRadius a(operands[0]);
  const MidRadius b(operands[1]);
  if (!a.finite || !b.finite) return {};
  const ProductSize size{result.rows(), a.middle.columns(), result.columns()};
  Range range{unwritten(result.axes), unwritten(result.axes)};
  CellBase at{.call = &call, .output = &result};
  for (; at.matrix < result.matrices(); ++at.matrix) {
    const auto times = [&](const Tensor& left, const Tensor& other) {
      Matrix out = Matrix::from_shape({size.rows, size.columns});
      multiply(left.cells(at.matching(0)), other.cells(at.matching(1)), std::span(out.storage()),
               size, right);
      return out;
    };
    const Matrix middle = times(a.middle, b.middle);
    Matrix radius = xt::zeros_like(middle);
    if (!b.exact) radius += times(a.size, b.radius);
    if (!a.exact) radius += times(a.radius, b.size);
    if (!a.exact && !b.exact) radius += times(a.radius, b.radius);
    xt::noalias(range.low.write_matrix(at.matrix)) = middle - radius;
    xt::noalias(range.high.write_matrix(at.matrix)) = middle + radius;
    if (call.inputs.size() < 3) continue;
    const std::size_t bias = at.matching(2);
    add_to_each_row(range.low.write_cells(at.matrix), operands[2].low->cells(bias));
    add_to_each_row(range.high.write_cells(at.matrix), operands[2].high->cells(bias));
  }
  return range;
}

}  // namespace qkv
