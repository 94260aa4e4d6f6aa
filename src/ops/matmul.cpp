#include "ops/product.hpp"

#include "ops/catalogue.hpp"
#include "ops/shape_rule.hpp"
#include "tensor/matmul.hpp"

namespace qkv {

Tensor product(const Call& call, const Form& form) {
  Tensor result = output_of(call, form);
  CellBase at{.call = &call, .output = &result};
  const Tensor& a = *call.inputs[0];
  const Tensor& b = *call.inputs[1];
  const ProductSize size{a.rows(), a.columns(), b.columns()};
  for (at.matrix = 0; at.matrix < result.matrices(); ++at.matrix) {
    multiply(a.matrix(at.matching(0)), b.matrix(at.matching(1)), result.matrix(at.matrix), size,
             RightSide::as_is);
  }
  return result;
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
};

}  // namespace

constinit const Operation matmul_operation{
    .name = "matmul",
    .title = "Multiply two matrices",
    .says = "Each cell of the result is a row of the first matrix times a column of the second: "
            "multiply pair by pair, then add.",
    .notice = "The left matrix mixes the rows of the right one; the right matrix mixes the columns "
              "of the left one.",
    .fewest = 2,
    .most = 2,
    .form = Matmul::form,
    .compute = Matmul::compute,
    .cell = readings_of<Matmul>(),
};

}  // namespace qkv
