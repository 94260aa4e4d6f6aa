#include "ops/catalogue.hpp"

namespace qkv {
namespace {

struct Transpose {
  static Form form(const Call&) { return {{"row column"}, "column row", "{0}ᵀ"}; }

  template <class N>
  static N cell(const Cell<N>& c) {
    return c(0)(c.column, c.row);
  }

  static Tensor compute(const Call& call) {
    Tensor operand = *call.inputs[0];
    if (operand.rank() == 1) operand.axes.insert(operand.axes.begin(), Axis{.name = "", .size = 1});
    operand.dot_width = 0;
    return transposed(operand);
  }
};

}  // namespace

constinit const Operation transpose_operation{
    .name = "transpose",
    .title = "Turn rows into columns",
    .says = "The matrix is turned over: its first row becomes the first column, and so on.",
    .notice = "The same numbers, each with its two indices exchanged.",
    .operands = R"(["A"])",
    .form = Transpose::form,
    .compute = Transpose::compute,
    .cell = readings_of<Transpose>(),
};

}  // namespace qkv
