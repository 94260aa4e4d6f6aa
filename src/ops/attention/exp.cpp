#include <cmath>

#include "ops/attention/score.hpp"
#include "ops/catalogue.hpp"
#include "ops/kinds/gradient.hpp"
#include "ops/kinds/line.hpp"
#include "ops/shape_rule.hpp"

namespace qkv {
namespace {

struct Exp {
  static Form form(const Call&) { return {{"row column"}, "row column", "e^{0}"}; }

  template <class N>
  static N cell(const Cell<N>& c) {
    using std::exp;
    return exp(c(0)(c.row, c.column));
  }

  static std::optional<InPlace> in_place(const Call& call) {
    const auto work = [](const RowPart& row) {
      for (double& cell : row.cells) cell = std::exp(cell);
    };
    return InPlace{frame_of(call, form(call)), work, true};
  }

  static Tensor compute(const Call& call) {
    return with_numbers(frame_of(call, form(call)), xt::exp(call.inputs[0]->array()));
  }
};

std::vector<Tensor> base_2(const Source& step) {
  return {with_numbers(step.operand(), xt::exp2(step.operand().array()))};
}

std::vector<Tensor> base_10(const Source& step) {
  return {with_numbers(step.operand(), xt::pow(10.0, step.operand().array()))};
}

std::vector<Tensor> no_exp(const Source& step) { return {by_matrix(step.operand(), finite)}; }

// What is hidden stays so.
std::vector<Tensor> negative(const Source& step) {
  const auto x = step.operand().array();
  return {with_numbers(step.operand(), xt::where(xt::isinf(x), 0.0, xt::exp(-x)))};
}

constexpr Mistake exp_mistakes[] = {
    {"softmax.base-2", "2 was raised to the numbers instead of e.", "e ≈ 2.718.", base_2},
    {"softmax.base-2", "10 was raised to the numbers instead of e.", "e ≈ 2.718.", base_10},
    {"softmax.negative", "The sign was turned: e^(−x).", "A larger number gets a larger power.",
     negative},
    {"softmax.no-exp", "The numbers were left as they were, without e^x.",
     "e to the power of each number.", no_exp},
    {"softmax.unscaled", "The scores went in before they were scaled.", "Scaling comes before e^x.",
     unscaled},
    {"softmax.unmasked", "The mask was ignored.", "e to the power of -inf is 0.", unmasked},
};

// The slope of e^x is e^x, which the step made.
struct ExpBack {
  static Form form(const Call&) { return {{"row column"}, "row column", "{0} ∘ {2}"}; }

  template <class N>
  static N cell(const Cell<N>& c) {
    return c(arriving)(c.row, c.column) * c(first_need)(c.row, c.column);
  }
};

constinit const Operation exp_back = gradient_of<Gradient<ExpBack>>({
    .title = "Back through e^x",
    .says = "e^x climbs as steeply as it is high: the gradient is multiplied by e^x itself.",
    .notice = "What became 0 sends nothing back.",
});

WayBack back_through_exp(const Use&) { return {&exp_back, {WayBack::result}}; }

}  // namespace

constinit const Operation exp_operation = operation_of<Exp>({
    .name = "exp",
    .title = "Raise e to each number",
    .says =
        "e ≈ 2.718 is raised to the power of each number. The result is never negative: 0 turns "
        "into 1, -1 into 0.3679, minus infinity into exactly 0.",
    .notice = "The order of the numbers stays; the gaps between them do not.",
    .operands = R"(["shifted"])",
    .least = 0,
    .mistakes = exp_mistakes,
    .way_back = back_through_exp,
});

}  // namespace qkv
