#include "ops/catalogue.hpp"
#include "ops/cell.hpp"
#include "tensor/tensor.hpp"

namespace qkv {
namespace {

struct Transpose {
  static Form form(const Call&) { return {{"row column"}, "column row", "{0}ᵀ"}; }

  template <class N>
  static N cell(const Cell<N>& c) {
    return c(0)(c.column, c.row);
  }

  static Tensor compute(const Call& call) {
    Tensor operand = as_matrix(*call.inputs[0]);
    operand.dot_width = 0;
    return transposed(operand);
  }
};

}  // namespace

constinit const Operation transpose_operation = operation_of<Transpose>({
    .name = "transpose",
    .title = "Turn rows into columns",
    .says = "The matrix is turned over: its first row becomes the first column, and so on.",
    .notice = "The same numbers, each with its two indices exchanged.",
    .operands = R"(["A"])",
});

}  // namespace qkv
