#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "ops/catalogue.hpp"
#include "ops/kinds/formula.hpp"
#include "ops/kinds/line.hpp"
#include "ops/numbers/functions.hpp"

namespace qkv::inline ops {
namespace {

struct Subtract {
  static Form form(const Call& call) { return pairwise_form(call, "{0} − {1}"); }

  template <class N>
  static N cell(const Cell<N>& c) {
    if constexpr (std::is_same_v<N, Interval>) {
      if (has_equal_operands(c)) return 0.0;
    }
    return c(0)(c.row, c.column) - beside(c);
  }

  static Tensor compute(const Call& call) { return pairwise(call, form(call), std::minus<>()); }
};

// C = A − B: dB = −dC.
using NegativeBackward = CellwiseGradient<"−{0}", [](const auto& change) { return 0.0 - change; }>;

constinit const Operation subtract_grad_first = gradient_of<Gradient<IdentityBackward>>({
    .title = "Back to what was subtracted from",
    .says = "It changes the difference by as much as it changes itself: the gradient passes.",
    .notice = "The same numbers.",
    .mistakes = cellwise_backward_mistakes<IdentityBackward>,
});

constinit const Operation subtract_grad_second = gradient_of<Gradient<NegativeBackward>>({
    .title = "Back to what was subtracted",
    .says =
        "The more is subtracted, the less is left: the gradient comes back with the other sign.",
    .notice = "Every sign is turned.",
    .mistakes = cellwise_backward_mistakes<NegativeBackward>,
});

}  // namespace

constinit const Operation subtract_operation = operation_of<Subtract>({
    .name = "subtract",
    .title = "Subtract, cell by cell",
    .says = "From each cell of the first matrix the cell in the same place of the second is taken. "
            "One row, one column or one number repeats.",
    .notice = "Where the two are equal, 0 is left.",
    .operands = R"(["A", "B"])",
    .min_operands = 2,
    .backward = backward_by<GradientBy{&subtract_grad_first}, GradientBy{&subtract_grad_second}>,
});

namespace {

// Division by 0 has no value, not an infinite one.
double quotient(double a, double b) { return b == 0 ? std::nan("") : a / b; }

struct Divide {
  static Form form(const Call& call) { return pairwise_form(call, "{0} / {1}, cell by cell"); }

  template <class N>
  static N cell(const Cell<N>& c) {
    const N a = c(0)(c.row, c.column);
    const N b = beside(c);
    if constexpr (std::is_same_v<N, double>) {
      return quotient(a, b);
    } else if constexpr (std::is_same_v<N, Interval>) {
      const bool is_one = has_equal_operands(c) && (b.low > 0 || b.high < 0);
      return is_one ? Interval(1.0) : a / b;
    } else {
      return a / b;
    }
  }

  static Tensor compute(const Call& call) { return pairwise(call, form(call), quotient); }
};

// C = A / B: dA = dC / B, dB = −dC ∘ C / B.
using GradNumerator = CellwiseGradient<"{0} / {2}", std::divides<>{}, first_saved>;
using GradDivisor = CellwiseGradient<"−{0} ∘ {2} / {1}",
                                     [](const auto& change, const auto& b, const auto& c) {
                                       return 0.0 - change * c / b;
                                     },
                                     self, first_saved>;

constinit const Operation divide_grad_numerator = gradient_of<Gradient<GradNumerator>>({
    .title = "Back to what was divided",
    .says = "What is divided by a number changes the quotient by so much less: the gradient is "
            "divided, too.",
    .notice = "Divided by the same numbers.",
    .mistakes = cellwise_backward_mistakes<GradNumerator>,
});

constinit const Operation divide_grad_divisor = gradient_of<Gradient<GradDivisor>>({
    .title = "Back to what it was divided by",
    .says = "A larger divisor makes the quotient smaller: the gradient is multiplied by the "
            "quotient, divided by the divisor, and gets the other sign.",
    .notice = "The larger the divisor, the less a change of it counts.",
    .mistakes = cellwise_backward_mistakes<GradDivisor>,
});

}  // namespace

constinit const Operation divide_operation = operation_of<Divide>({
    .name = "divide",
    .title = "Divide, cell by cell",
    .says = "Each cell of the first matrix is divided by the cell in the same place of the second. "
            "One row, one column or one number repeats.",
    .notice = "Divided by less than 1, a number grows.",
    .operands = R"(["A", "B"])",
    .min_operands = 2,
    .undefined = "a number was divided by 0; look for zeros in the second operand",
    .backward = backward_by<GradientBy{&divide_grad_numerator, 1},
                            GradientBy{&divide_grad_divisor, BackwardRule::result}>,
});

namespace {

struct Maximum {
  static Form form(const Call& call) { return pairwise_form(call, "max({0}, {1}), cell by cell"); }

  template <class N>
  static N cell(const Cell<N>& c) {
    return nan_max_of<N>(2,
                         [&](std::size_t k) { return k == 0 ? c(0)(c.row, c.column) : beside(c); });
  }

  static Tensor compute(const Call& call) {
    return pairwise(call, form(call), [](double a, double b) { return nan_max(a, b); });
  }
};

// The larger one gets the gradient; of two equal ones each gets half.
using MaximumBackward =
    CellwiseGradient<"{0}, where {1} > {2}",
                     [](const auto& change, const auto& own, const auto& other) {
                       return max_backward(change, own, other);
                     },
                     self, first_saved>;

constinit const Operation maximum_gradient = gradient_of<Gradient<MaximumBackward>>({
    .title = "Back to the larger of two",
    .says = "Only the larger of the two is seen in the result: it gets the gradient, and the other "
            "gets 0. Two that are equal share it.",
    .notice = "A cell that was not the larger one learns nothing.",
    .mistakes = cellwise_backward_mistakes<MaximumBackward>,
});

}  // namespace

constinit const Operation maximum_operation = operation_of<Maximum>({
    .name = "maximum",
    .title = "Take the larger of two, cell by cell",
    .says = "Of the two cells in the same place the larger one stays. One row, one column or one "
            "number repeats: beside 0 it is ReLU.",
    .notice = "No cell is below either of its two.",
    .operands = R"(["A", "B"])",
    .min_operands = 2,
    .backward = backward_by<GradientBy{&maximum_gradient, 1}, GradientBy{&maximum_gradient, 0}>,
});

namespace {

constexpr OptionRule gradient_step_options[] = {
    {.name = "rate",
     .help = "how long the step is: what the gradient is multiplied by",
     .numbers = OptionRule::Numbers::positive,
     .required = true},
};

double rate_of(const Call& call) { return call.options->number("rate", 1); }

struct GradientStep {
  static Form form(const Call& call) {
    return {{"row column"}, "row column", fmt::format("{{0}} − {} · {{1}}", rate_of(call))};
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    return c(0)(c.row, c.column) - N(rate_of(*c.call)) * c(1)(c.row, c.column);
  }
};

// The weight moved by the gradient, times a wrong factor of the rate.
template <auto factor>
double moved_by(const Cell<double>& c) {
  return c(0)(c.row, c.column) + factor(rate_of(*c.call)) * c(1)(c.row, c.column);
}

constexpr Mistake gradient_step_mistakes[] = {
    {"gradient-step.sign", "The gradient was added instead of subtracted.",
     "Against the gradient the loss falls.", moved_by<[](double rate) { return rate; }>},
    {"gradient-step.rate", "The gradient was not multiplied by the rate.",
     "Take the rate times the gradient away.", moved_by<[](double) { return -1; }>},
    {"gradient-step.rate", "The gradient was divided by the rate.",
     "Take the rate times the gradient away.", moved_by<[](double rate) { return -1 / rate; }>},
};

// W_new = W − rate · G: dW = dW_new, dG = −rate · dW_new.
struct ByRate {
  static Form form(const Call& call) {
    return {{"row column"}, "row column", fmt::format("−{} · {{0}}", rate_of(call))};
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    return N(-rate_of(*c.call)) * c(grad_output)(c.row, c.column);
  }
};

constinit const Operation step_grad_weight = gradient_of<Gradient<IdentityBackward>>({
    .title = "Back to the weight before the step",
    .says = "The step moves the weight by what does not depend on it: the gradient passes.",
    .notice = "The same numbers.",
});

constinit const Operation step_grad_gradient = gradient_of<Gradient<ByRate>>({
    .title = "Back to the gradient of the step",
    .says = "The step goes against the gradient, by the rate.",
    .notice = "The sign is turned.",
});

}  // namespace

constinit const Operation gradient_step_operation = operation_of<GradientStep>({
    .name = "gradient_step",
    .title = "Take a step against the gradient",
    .says = "Each number moves against its gradient, the further the steeper the loss is there: "
            "that is how a model learns.",
    .notice = "Where the gradient is 0, nothing moves.",
    .operands = R"(["W", "d_W"])",
    .min_operands = 2,
    .options = gradient_step_options,
    .mistakes = gradient_step_mistakes,
    .backward = backward_by<GradientBy{&step_grad_weight}, GradientBy{&step_grad_gradient}>,
});

namespace {

struct Add {
  static Form form(const Call& call) { return pairwise_form(call, "{0} + {1}"); }

  template <class N>
  static N cell(const Cell<N>& c) {
    return c(0)(c.row, c.column) + beside(c);
  }

  static Tensor compute(const Call& call) { return pairwise(call, form(call), std::plus<>()); }
};

// A matrix of an earlier step, the nearest first, in place of an operand of its size.
Versions wrong_operand(const StepView& step) {
  constexpr std::size_t most = 32;
  Versions results;
  const auto here = std::ranges::find_if(step.all, [&](const StepView& v) { return &v == &step; });
  for (auto at = here; at != step.all.begin() && results.size() < most;) {
    const StepView& other = *--at;
    if (std::ranges::find(step.inputs, &other) != step.inputs.end()) continue;
    if (other.operation && is_gradient(*other.operation)) continue;
    for (std::size_t k = 0; k < step.inputs.size(); ++k) {
      if (other.tensor->shape() != step.operand(k).shape() || step.operand(k).rows() < 2) continue;
      results.push_back(with_operand(step, k, *other.tensor));
    }
  }
  return results;
}

constexpr Mistake add_mistakes[] = {
    {"add.skipped", "{1} was not added.", "Both matrices go into the sum.",
     [](const Cell<double>& c) { return c(0)(c.row, c.column); }},
    {"add.skipped", "{0} was not added.", "Both matrices go into the sum.", beside<double>},
    {"add.wrong-operand", "Another matrix was added in place of {0} or {1}.",
     "Which two matrices does the sum take?", wrong_operand},
};

constinit const Operation add_gradient = gradient_of<Gradient<IdentityBackward>>({
    .title = "Back through a sum",
    .says =
        "What was added changes the sum by as much as it changes itself: the gradient passes as "
        "it is. Where one row stood for many, theirs are added up.",
    .notice = "A residual is a road on which no gradient gets lost.",
    .mistakes = cellwise_backward_mistakes<IdentityBackward>,
});

}  // namespace

constinit const Operation add_operation = operation_of<Add>({
    .name = "add",
    .title = "Add, cell by cell",
    .says = "Two matrices of the same size are added, each cell to the cell in the same place. One "
            "row, one column or one number repeats.",
    .notice = "Every number comes from just two others.",
    .operands = R"(["A", "B"])",
    .min_operands = 2,
    .mistakes = add_mistakes,
    .backward = backward_by<GradientBy{&add_gradient}>,
});

}  // namespace qkv::inline ops
