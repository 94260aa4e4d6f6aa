#include "ops/catalogue.hpp"
#include "ops/product.hpp"

namespace qkv {
namespace {

struct Matmul : ProductMaths<RightSide::as_is> {
  static Form form(const Call&) {
    return {{"row inner", "inner column"}, "row column", "{0} · {1}", "{1} · {0}"};
  }

  static Tensor compute(const Call& call) {
    // [row inner]·[inner column] → [row column]
    Tensor result = product(call, form(call), RightSide::as_is);
    result.dot_width = call.inputs[0]->columns();
    return result;
  }
};

}  // namespace

constinit const Operation matmul_operation = operation_of<Matmul>({
    .name = "matmul",
    .title = "Multiply two matrices",
    .says = "Each cell of the result is a row of the first matrix times a column of the second: "
            "multiply pair by pair, then add.",
    .notice = "The left matrix mixes the rows of the right one; the right matrix mixes the columns "
              "of the left one.",
    .operands = R"(["A", "B"])",
    .fewest = 2,
    .most = 2,
    .turns_operands = true,
});

}  // namespace qkv
