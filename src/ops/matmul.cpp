#include "ops/product.hpp"

#include <algorithm>
#include <cmath>

#include "ops/catalogue.hpp"
#include "ops/shape_rule.hpp"

namespace qkv {

Tensor product(const Call& call, const Form& form) {
  Tensor result = output_of(call, form);
  const Tensor& a = *call.inputs[0];
  const Tensor& b = *call.inputs[1];
  const ProductSize size{a.rows(), a.columns(), b.columns()};
  multiply_each(result.matrices(), size, [&](std::size_t m) {
    const CellBase at{.call = &call, .output = &result, .matrix = m};
    multiply(a.cells(at.matching(0)), b.cells(at.matching(1)), result.write_cells(m), size,
             RightSide::as_is);
  });
  return result;
}

namespace {

// Intervals as their middles, how far these are from 0, and how far the ends are from them.
struct MidRadius {
  Vector middle, size, radius;
  bool exact, finite;  // no radius anywhere; nothing infinite

  explicit MidRadius(const Bounds& bounds) {
    const ArrayView<1> low = bounds.low->array<1>();
    const ArrayView<1> high = bounds.high->array<1>();
    middle = low + (high - low) / 2;
    size = xt::abs(middle);
    radius = xt::maximum(high - middle, middle - low);
    exact = std::ranges::all_of(radius, [](double r) { return r == 0; });
    finite = std::ranges::all_of(radius, [](double r) { return std::isfinite(r); });
  }
};

// sum += a · b for one pair of matrices.
void add_product(std::span<const double> a, std::span<const double> b, std::span<double> sum,
                 ProductSize size, RightSide right) {
  std::vector<double> product(sum.size());
  multiply(a, b, product, size, right);
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += product[i];
}

}  // namespace

std::optional<Range> product_range(const Call& call, std::span<const Bounds> operands,
                                   const Tensor& result, RightSide right) {
  const Tensor& left = *call.inputs[0];
  const Tensor& other = *call.inputs[1];
  const MidRadius a(operands[0]);
  const MidRadius b(operands[1]);
  if (!a.finite || !b.finite) return {};
  const ProductSize size{result.rows(), left.columns(), result.columns()};
  Range range{result, result};
  CellBase at{.call = &call, .output = &result};
  for (at.matrix = 0; at.matrix < result.matrices(); ++at.matrix) {
    const auto of_left = [&](const Vector& values) {
      const std::size_t cells = left.rows() * left.columns();
      return std::span(values.data(), values.size()).subspan(at.matching(0) * cells, cells);
    };
    const auto of_other = [&](const Vector& values) {
      const std::size_t cells = other.rows() * other.columns();
      return std::span(values.data(), values.size()).subspan(at.matching(1) * cells, cells);
    };
    std::vector<double> middle(result.rows() * result.columns());
    std::vector<double> radius(middle.size());
    multiply(of_left(a.middle), of_other(b.middle), middle, size, right);
    if (!b.exact) add_product(of_left(a.size), of_other(b.radius), radius, size, right);
    if (!a.exact) add_product(of_left(a.radius), of_other(b.size), radius, size, right);
    if (!a.exact && !b.exact)
      add_product(of_left(a.radius), of_other(b.radius), radius, size, right);
    for (std::size_t i = 0; i < middle.size(); ++i) {
      range.low.write_cells(at.matrix)[i] = middle[i] - radius[i];
      range.high.write_cells(at.matrix)[i] = middle[i] + radius[i];
    }
  }
  return range;
}

namespace {

struct Matmul {
  static Form form(const Call&) {
    return {{"row inner", "inner column"}, "row column", "{0} · {1}", "{1} · {0}"};
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    return product_cell(c);
  }

  static Tensor compute(const Call& call) {
    Tensor result = product(call, form(call));  // [row inner]·[inner column] → [row column]
    result.dot_width = call.inputs[0]->columns();
    return result;
  }

  static std::optional<Range> range(const Call& call, std::span<const Bounds> operands,
                                    const Tensor& result) {
    return product_range(call, operands, result, RightSide::as_is);
  }
};

}  // namespace

constinit const Operation matmul_operation{
    .name = "matmul",
    .title = "Multiply two matrices",
    .says =
        "Each cell of the result is a row of the first matrix times a column of the second: "
        "multiply pair by pair, then add.",
    .notice =
        "The left matrix mixes the rows of the right one; the right matrix mixes the columns "
        "of the left one.",
    .operands = R"(["A", "B"])",
    .fewest = 2,
    .most = 2,
    .form = Matmul::form,
    .compute = Matmul::compute,
    .cell = readings_of<Matmul>(),
    .range = Matmul::range,
};

}  // namespace qkv
