#include "ops/kinds/cellwise.hpp"
#include "ops/kinds/line.hpp"

namespace qkv::inline ops {
namespace {

using Subtract = Pairwise<"{0} − {1}", std::minus<>{}, [](Interval) -> Interval { return 0.0; }>;

// C = A − B: dA = dC, dB = −dC.
constexpr GradientWords minuend_words{
    "Back to the first matrix",
    "The difference changes by as much as this number does, so the gradient stays as it is.",
    "The same numbers."};

struct GradSubtrahend : CellwiseGradient<"−{0}", [](const auto& change) { return 0.0 - change; }> {
  static constexpr GradientWords words{
      "Back to the second matrix",
      "The more is subtracted, the smaller the difference: the gradient gets the other sign.",
      "Every sign changes."};
};

// Division by 0 has no value, not an infinite one.
double quotient(double a, double b) { return b == 0 ? std::nan("") : a / b; }

template <class N>
N quotient(const N& a, const N& b) {
  return a / b;
}

// A number divided by itself.
Interval quotient_of_same(Interval x) { return x.low > 0 || x.high < 0 ? Interval(1.0) : x / x; }

using Divide =
    Pairwise<"{0} / {1}, cell by cell", [](const auto& a, const auto& b) { return quotient(a, b); },
             quotient_of_same>;

// C = A / B: dA = dC / B, dB = −dC ∘ C / B.
struct GradNumerator : CellwiseGradient<"{0} / {2}", std::divides<>{}, Role::other> {
  static constexpr GradientWords words{
      "Back to the dividend",
      "The number was divided, so its gradient is divided by the same number.",
      "The numbers are those of the forward pass."};
};

struct GradDivisor : CellwiseGradient<"−{0} ∘ {2} / {1}",
                                      [](const auto& change, const auto& b, const auto& c) {
                                        return 0.0 - change * c / b;
                                      },
                                      Role::self, Role::output> {
  static constexpr GradientWords words{
      "Back to the divisor",
      "A larger divisor makes the quotient smaller. So the gradient is multiplied by the quotient, "
      "divided by the divisor, and gets the other sign.",
      "The larger the divisor, the smaller its gradient."};
};

using Maximum = Pairwise<"max({0}, {1}), cell by cell", []<class N>(const N& a, const N& b) {
  return nan_max_of<N>(2, [&](std::size_t k) { return k == 0 ? a : b; });
}>;

// The larger one gets the gradient; of two equal ones each gets half.
struct GradLarger : CellwiseGradient<"{0}, where {1} > {2}",
                                     [](const auto& change, const auto& own, const auto& other) {
                                       return max_backward(change, own, other);
                                     },
                                     Role::self, Role::other> {
  static constexpr std::string_view code = "{0} * (({1} > {2}) + ({1} == {2}) / 2)";
  static constexpr GradientWords words{
      "Back to the larger of two",
      "The result is the larger of the two. So the larger one gets the gradient, and the other "
      "gets 0. Two that are equal share it.",
      "A cell that was not the larger one has gradient 0."};
};

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

  static auto cell(const auto& c) {
    return c(0)(c.row, c.column) - rate_of(*c.call) * c(1)(c.row, c.column);
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
     "Subtract the rate times the gradient.", moved_by<[](double) { return -1; }>},
    {"gradient-step.rate", "The gradient was divided by the rate.",
     "Subtract the rate times the gradient.", moved_by<[](double rate) { return -1 / rate; }>},
    {"gradient-step.rate", "Ten times the rate was taken.", "Where is the rate's decimal point?",
     moved_by<[](double rate) { return -10 * rate; }>},
    {"gradient-step.rate", "A tenth of the rate was taken.", "Where is the rate's decimal point?",
     moved_by<[](double rate) { return -rate / 10; }>},
};

// W_new = W − rate · G: dW = dW_new, dG = −rate · dW_new.
constexpr GradientWords stepped_words{
    "Back to the weight before the step",
    "The step does not depend on the weight itself, so the gradient stays as it is.",
    "The same numbers."};

struct GradOfGradient {
  static constexpr GradientWords words{"Back to the gradient of the step",
                                       "The step goes against the gradient, by the rate.",
                                       "The sign changes."};

  static Form form(const Call& call) {
    return {{"row column"}, "row column", fmt::format("−{} · {{0}}", rate_of(call))};
  }

  static auto cell(const auto& c) { return -rate_of(*c.call) * c(grad_output)(c.row, c.column); }
};

using Add = Pairwise<"{0} + {1}", std::plus<>{}>;

// A matrix of an earlier step, the nearest first, in place of an operand of its size.
Versions wrong_operand(const StepView& step) {
  constexpr std::size_t most = 160;  // of twelve layers
  Versions results;
  const auto here = std::ranges::find_if(step.all, [&](const StepView& v) { return &v == &step; });
  for (auto at = here; at != step.all.begin() && results.size() < most;) {
    const StepView& other = *--at;
    if (contains(step.inputs, &other)) continue;
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
     [](const Cell<double>& c) { return c(0)(c.row, c.column); }, zeros_evidence},
    {"add.skipped", "{0} was not added.", "Both matrices go into the sum.",
     [](const Cell<double>& c) { return repeated(c(1), c); }, zeros_evidence},
    {"add.subtracted", "{1} was subtracted, not added.", "This step adds.",
     Instead{&subtract_operation}},
    {"add.wrong-operand", "Another matrix was added in place of {0} or {1}.",
     "Which two matrices does the sum take?", wrong_operand},
};

constexpr GradientWords addend_words{
    "Back through a sum",
    "The sum changes by as much as this matrix does, so the gradient stays as it is. If one row "
    "was repeated, the gradients of its copies are added up.",
    "Along a residual the gradient does not get smaller."};

}  // namespace

constinit const Operation subtract_operation = operation_of<Subtract>({
    .name = "subtract",
    .title = "Subtract cell by cell",
    .says = "From each cell the cell in the same place of the second matrix is subtracted. If the "
            "second matrix has only one row or column, that is repeated.",
    .notice = "Where the two are equal, the result is 0.",
    .operands = R"(["A", "B"])",
    .backward =
        backward_by<Repeated<WithWords<IdentityBackward, minuend_words>>, Repeated<GradSubtrahend>>,
});

constinit const Operation divide_operation = operation_of<Divide>({
    .name = "divide",
    .title = "Divide cell by cell",
    .says = "Each cell is divided by the cell in the same place of the second matrix. If the "
            "second matrix has only one row or column, that is repeated.",
    .notice = "To divide by a number between 0 and 1 makes the result larger.",
    .operands = R"(["A", "B"])",
    .undefined = "a number was divided by 0; look for zeros in the second operand",
    .backward = backward_by<Repeated<GradNumerator>, Repeated<GradDivisor>>,
});

constinit const Operation maximum_operation = operation_of<Maximum>({
    .name = "maximum",
    .title = "Take the larger of two cells",
    .says = "The result has the larger of the two cells in the same place. If the second matrix "
            "has only one row or column, that is repeated. With 0 this is ReLU.",
    .notice = "No cell is smaller than either of the two.",
    .operands = R"(["A", "B"])",
    .backward = backward_by<GradLarger>,
});

constinit const Operation gradient_step_operation = operation_of<GradientStep>({
    .name = "gradient_step",
    .title = "Take a step against the gradient",
    .says = "Each number moves against its gradient: the larger the gradient, the further. That is "
            "how a model learns.",
    .notice = "Where the gradient is 0, nothing moves.",
    .operands = R"(["W", "d_W"])",
    .options = gradient_step_options,
    .mistakes = gradient_step_mistakes,
    .backward = backward_by<WithWords<IdentityBackward, stepped_words>, GradOfGradient>,
});

constinit const Operation add_operation = operation_of<Add>({
    .name = "add",
    .title = "Add cell by cell",
    .says = "Each cell is added to the cell in the same place. If the second matrix has only one "
            "row or column, that is repeated.",
    .notice = "Every number is the sum of just two others.",
    .operands = R"(["A", "B"])",
    .mistakes = add_mistakes,
    .backward = backward_by<Repeated<WithWords<IdentityBackward, addend_words>>>,
});

}  // namespace qkv::inline ops
