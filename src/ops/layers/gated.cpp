#include "ops/kinds/cellwise.hpp"

namespace qkv::inline ops {
namespace {

// x · σ(x), where σ is the sigmoid (Elfwing, Uchibe and Doya, 2017); also called swish.
template <class N>
N silu(const N& x) {
  using std::exp;
  return x / (N(1.0) + exp(opposite(x)));
}

// Falls to one minimum, then rises: extremes are at the ends or at the minimum.
Interval silu(Interval x) { return range_with_turns(x, {-1.2784645427610738}, silu<double>); }

using Silu = CellFunction<"SiLU({0})", [](const auto& x) { return silu(x); }>;

double sigmoid_of(const Cell<double>& c) { return sigmoid(c(0)(c.row, c.column)); }

constexpr Mistake silu_mistakes[] = {
    other_factor_taken,
    {"swiglu.sigmoid", "The sigmoid alone was taken: 1 / (1 + e^(−x)).",
     "SiLU is x times the sigmoid of x.", sigmoid_of},
    {"swiglu.relu", "ReLU was taken instead of SiLU.", "x / (1 + e^(−x)).",
     Instead{&relu_operation}},
    {"swiglu.gelu", "GELU was taken instead of SiLU.", "x / (1 + e^(−x)).",
     Instead{&gelu_operation}},
    {"activation.other", "x / (1 + e^(−1.702 x)) was taken here.", "x / (1 + e^(−x)).", quick_gelu},
};

// The derivative of SiLU: σ(x) · (1 + x · (1 − σ(x))).
template <class N>
N silu_slope(const N& x) {
  const N share = sigmoid(x);
  return share * (N(1.0) + x * (N(1.0) - share));
}

// Falls, rises and falls again: extremes are at the ends or at the turning points.
Interval silu_slope(Interval x) {
  constexpr double steepest = 2.399357280515467;
  return range_with_turns(x, {-steepest, steepest}, silu_slope<double>);
}

struct GradSilu
    : CellwiseGradient<"{0} ∘ σ({1}) · (1 + {1} · (1 − σ({1})))",
                       [](const auto& change, const auto& x) { return change * silu_slope(x); },
                       Role::self> {
  static constexpr std::string_view code =
      "s = 1 / (1 + {np}.exp(-{1})); {=}{0} * s * (1 + {1} * (1 - s))";
  static constexpr GradientWords words{"Back through SiLU",
                                       "The gradient is multiplied by the slope of SiLU at each "
                                       "number, where σ(x) is 1 / (1 + e^(−x)).",
                                       "Where is the slope negative?"};
};

using Multiply =
    Pairwise<"{0} · {1}, cell by cell", std::multiplies<>{}, [](Interval x) { return squared(x); }>;

// True for SiLU, as in SwiGLU, and for GELU of one of two projections of a matrix, as in Gemma.
bool is_gate(const StepView& factor, const StepView& up) {
  if (factor.operation != &gelu_operation) return factor.operation == &silu_operation;
  return factor.inputs[0]->operation == &project_operation && up.operation == &project_operation &&
         factor.inputs[0]->inputs[0] == up.inputs[0];
}

// A gated product (Shazeer, 2020) with `change` made to the gate, for each factor that is one.
template <auto change>
Versions with_gate(const StepView& step) {
  Versions versions;
  for (std::size_t k = 0; k < 2; ++k) {
    if (!is_gate(*step.inputs[k], *step.inputs[1 - k])) continue;
    for (const Tensor& gate : versions_of(change, *step.inputs[k])) {
      versions.push_back(with_operand(step, k, gate));
    }
  }
  return versions;
}

Versions gate_swapped(const StepView& step) {
  Versions versions;
  for (std::size_t k = 0; k < 2; ++k) {
    if (!is_gate(*step.inputs[k], *step.inputs[1 - k])) continue;
    const Tensor up = with_operand(*step.inputs[k], 0, step.operand(1 - k));
    Call call = call_of(step);
    call.inputs[k] = &step.inputs[k]->operand();
    call.inputs[1 - k] = &up;
    versions.push_back(multiply_operation.compute(call));
  }
  return versions;
}

constexpr std::string_view own_function = "Multiply by the gate's own function.";
constexpr Mistake multiply_mistakes[] = {
    {"swiglu.swapped", "The function was applied to the other factor.", "Apply it to the gate.",
     gate_swapped},
    {"swiglu.of-product", "SiLU was applied to the product.",
     "First SiLU of the gate, then multiply.", Exchange{{&silu_operation}}},
    {"swiglu.sigmoid", "The gate's sigmoid was multiplied.", own_function, with_gate<sigmoid_of>},
    {"swiglu.relu", "ReLU of the gate was multiplied.", own_function,
     with_gate<Instead{&relu_operation}>},
    {"swiglu.gelu", "GELU of the gate was multiplied, or its other form.", own_function,
     with_gate<Instead{&gelu_operation}>},
    {"swiglu.no-silu", "The gate itself was multiplied.", own_function, with_gate<Skip{}>},
    {"swiglu.added", "The two were added instead of multiplied.", "Multiply cell by cell.",
     Instead{&add_operation}},
};

// C = A ∘ B: dA = dC ∘ B and dB = dC ∘ A.
struct GradFactor : CellwiseGradient<"{0} ∘ {2}", std::multiplies<>{}, Role::other> {
  static constexpr GradientWords words{
      "Back through a product cell by cell",
      "The gradient is multiplied by the other factor. If one number was repeated, the gradients "
      "of its copies are added up.",
      "Where the other factor is 0, the gradient is 0."};
};

}  // namespace

Versions other_factor(const StepView& step) {
  Versions versions;
  for (const StepView& later : step.all) {
    if (later.operation != &multiply_operation) continue;
    for (std::size_t k = 0; k < 2; ++k) {
      if (later.inputs[k] == &step && is_gate(step, *later.inputs[1 - k]))
        versions.push_back(later.operand(1 - k));
    }
  }
  return versions;
}

constinit const Operation silu_operation = operation_of<Silu>({
    .name = "silu",
    .title = "Apply SiLU",
    .says = "Each number is multiplied by its sigmoid, 1 / (1 + e^(−x)), which is between 0 and 1. "
            "Large positive numbers hardly change, large negative ones become nearly 0. SiLU is "
            "also called swish.",
    .notice = "The smallest possible result is -0.2785, at x = -1.2785.",
    .operands = R"(["gate"])",
    .mistakes = silu_mistakes,
    .backward = backward_by<GradSilu>,
    .code = "{0} / (1 + np.exp(-{0}))\n"
            "torch.nn.functional.silu({0})",
});

constinit const Operation multiply_operation = operation_of<Multiply>({
    .name = "multiply",
    .title = "Multiply cell by cell",
    .says =
        "Each cell is multiplied by the cell in the same place. Unlike in a matrix product, "
        "nothing is added up. If the second matrix has only one row or column, that is repeated.",
    .notice = "Where one of the two is 0, so is the product.",
    .operands = R"(["A", "B"])",
    .mistakes = multiply_mistakes,
    .backward = backward_by<Repeated<GradFactor>>,
});

}  // namespace qkv::inline ops
