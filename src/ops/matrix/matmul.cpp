#include "ops/catalogue.hpp"
#include "ops/kinds/product.hpp"
#include "ops/kinds/product_back.hpp"

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

// C = A·B: dA = dC·Bᵀ, dB = Aᵀ·dC.
struct ToLeft {
  static constexpr std::string_view axes[] = {"row column", "row inner", "inner column"};
  static constexpr Factor left{arriving, false}, right{first_need, true};
};

struct ToRight {
  static constexpr std::string_view axes[] = {"row column", "inner column", "row inner"};
  static constexpr Factor left{first_need, true}, right{arriving, false};
};

constinit const Operation matmul_to_left = product_gradient<ToLeft>({
    .title = "Back to the left matrix",
    .says = "The gradient of a product goes back to its left matrix through the right one, turned "
            "over.",
    .notice = "It has the left matrix's own shape.",
});

constinit const Operation matmul_to_right = product_gradient<ToRight>({
    .title = "Back to the right matrix",
    .says = "The gradient of a product goes back to its right matrix through the left one, turned "
            "over.",
    .notice = "It has the right matrix's own shape.",
});

WayBack back_through_matmul(const Use& use) {
  if (use.operand == 0) return {&matmul_to_left, {1}};
  return {&matmul_to_right, {0}};
}

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
    .way_back = back_through_matmul,
});

}  // namespace qkv
