#include "ops/catalogue.hpp"
#include "ops/cell.hpp"
#include "ops/kinds/gradient.hpp"
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

struct TransposeBack {
  static Form form(const Call&) { return {{"row column", "column row"}, "column row", "{0}ᵀ"}; }

  template <class N>
  static N cell(const Cell<N>& c) {
    return c(arriving)(c.column, c.row);
  }
};

constinit const Operation transpose_back = gradient_of<Gradient<TransposeBack>>({
    .title = "Back through the turning over",
    .says = "The gradient is turned over as the matrix was.",
    .notice = "The same numbers, each in its operand's place.",
});

WayBack back_through_transpose(const Use&) { return {&transpose_back}; }

}  // namespace

constinit const Operation transpose_operation = operation_of<Transpose>({
    .name = "transpose",
    .title = "Turn rows into columns",
    .says = "The matrix is turned over: its first row becomes the first column, and so on.",
    .notice = "The same numbers, each with its two indices exchanged.",
    .operands = R"(["A"])",
    .way_back = back_through_transpose,
});

}  // namespace qkv
