#include <fmt/format.h>

#include "ops/catalogue.hpp"
#include "ops/kinds/cellwise_back.hpp"
#include "ops/kinds/formula.hpp"

namespace qkv {
namespace {

constexpr OptionRule gradient_step_options[] = {
    {.name = "rate",
     .says = "how long the step is: what the gradient is multiplied by",
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

std::vector<Tensor> moved_by(const Source& step, double factor) {
  return {by_operands(call_of(step), *step.tensor,
                      [&](const Operands& of) -> Matrix { return of(0) + factor * of(1); })};
}

std::vector<Tensor> upwards(const Source& step) { return moved_by(step, rate_of(call_of(step))); }
std::vector<Tensor> whole(const Source& step) { return moved_by(step, -1); }
std::vector<Tensor> divided(const Source& step) {
  return moved_by(step, -1 / rate_of(call_of(step)));
}

constexpr Mistake gradient_step_mistakes[] = {
    {"gradient-step.sign", "The gradient was added instead of subtracted.",
     "Against the gradient the loss falls.", upwards},
    {"gradient-step.rate", "The gradient was not multiplied by the rate.",
     "Take the rate times the gradient away.", whole},
    {"gradient-step.rate", "The gradient was divided by the rate.",
     "Take the rate times the gradient away.", divided},
};

// To the weight it passes; to its gradient it goes by the rate, with the other sign.
struct ByRate {
  static Form form(const Call& call) {
    return {{"row column"}, "row column", fmt::format("−{} · {{0}}", rate_of(call))};
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    return N(-rate_of(*c.call)) * c(arriving)(c.row, c.column);
  }
};

constinit const Operation step_to_weight = gradient_of<Gradient<PassBack>>({
    .title = "Back to the weight before the step",
    .says = "The step moves the weight by what does not depend on it: the gradient passes.",
    .notice = "The same numbers.",
});

constinit const Operation step_to_gradient = gradient_of<Gradient<ByRate>>({
    .title = "Back to the gradient of the step",
    .says = "The step goes against the gradient, by the rate.",
    .notice = "The sign is turned.",
});

WayBack back_through_step(const Use& use) {
  return {use.operand == 0 ? &step_to_weight : &step_to_gradient};
}

}  // namespace

constinit const Operation gradient_step_operation = operation_of<GradientStep>({
    .name = "gradient_step",
    .title = "Take a step against the gradient",
    .says = "Each number moves against its gradient, the further the steeper the loss is there: "
            "that is how a model learns.",
    .notice = "Where the gradient is 0, nothing moves.",
    .operands = R"(["W", "d_W"])",
    .fewest = 2,
    .most = 2,
    .options = gradient_step_options,
    .mistakes = gradient_step_mistakes,
    .way_back = back_through_step,
});

}  // namespace qkv
