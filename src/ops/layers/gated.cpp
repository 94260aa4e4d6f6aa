#include "ops/kinds/cellwise.hpp"

namespace qkv::inline ops {
namespace {

Tensor made_by(const Operation& operation, const Tensor& numbers, const Options& options = {}) {
  return operation.compute(
      {.step = operation.name, .inputs = {&numbers}, .names = {"gate"}, .options = &options});
}

/// The gate of a tensor: SiLU, and what learners put in its place, each in all its forms.
/// Example: `gated_by_sigmoid(gate)` is 1 / (1 + e^(−gate)), cell by cell
std::vector<Tensor> gated_by_silu(const Tensor& gate) { return {made_by(silu_operation, gate)}; }

std::vector<Tensor> gated_by_sigmoid(const Tensor& gate) {
  return {with_numbers(gate, 1 / (1 + xt::exp(-gate.array())))};
}

std::vector<Tensor> gated_by_relu(const Tensor& gate) { return {made_by(relu_operation, gate)}; }

std::vector<Tensor> gated_by_gelu(const Tensor& gate) {
  Options exact;
  exact.set("form", std::string("erf"));
  return {made_by(gelu_operation, gate), made_by(gelu_operation, gate, exact)};
}

// x · σ(x), where σ is the sigmoid (Elfwing, Uchibe and Doya, 2017; Ramachandran and others call it
// swish).
template <class N>
N silu(const N& x) {
  using std::exp;
  return x / (N(1.0) + exp(opposite(x)));
}

// Falls to one minimum, then rises: extremes are at the ends or at the minimum.
Interval silu(Interval x) { return range_with_turns(x, {-1.2784645427610738}, silu<double>); }

struct Silu {
  static Form form(const Call&) { return {{"row column"}, "row column", "SiLU({0})"}; }

  static auto cell(const auto& c) { return silu(c(0)(c.row, c.column)); }

  static Tensor compute(const Call& call) {
    const auto x = call.inputs[0]->array();
    return with_numbers(frame_of(call, form(call)), x / (1 + xt::exp(-x)));
  }
};

// The step's operand through another gate.
template <std::vector<Tensor> (*gate)(const Tensor&)>
std::vector<Tensor> silu_by_gate(const StepView& step) {
  return gate(step.operand());
}

// SiLU of the other factor of a later product.
std::vector<Tensor> silu_of_other_factor(const StepView& step) {
  std::vector<Tensor> versions;
  for (const StepView& later : step.all) {
    if (later.operation != &multiply_operation) continue;
    for (std::size_t k = 0; k < 2; ++k) {
      if (later.inputs[k] != &step) continue;
      versions.push_back(gated_by_silu(later.operand(1 - k)).front());
    }
  }
  return versions;
}

constexpr Mistake silu_mistakes[] = {
    {"swiglu.swapped", "SiLU was taken of the numbers that the gate is multiplied by.",
     "SiLU goes over the gate.", silu_of_other_factor},
    {"swiglu.sigmoid", "The sigmoid alone was taken: 1 / (1 + e^(−x)).",
     "SiLU is x times the sigmoid of x.", silu_by_gate<gated_by_sigmoid>},
    {"swiglu.relu", "ReLU was taken instead of SiLU.", "x / (1 + e^(−x)).",
     silu_by_gate<gated_by_relu>},
    {"swiglu.gelu", "GELU was taken instead of SiLU.", "x / (1 + e^(−x)).",
     silu_by_gate<gated_by_gelu>},
    {"activation.other", "x / (1 + e^(−1.702 x)) was taken here.", "x / (1 + e^(−x)).",
     [](const StepView& step) -> std::vector<Tensor> {
       const auto x = step.operand().array();
       return {with_numbers(step.operand(), x / (1 + xt::exp(-1.702 * x)))};
     }},
};

// The derivative of SiLU: σ(x) · (1 + x · (1 − σ(x))).
template <class N>
N slope(const N& x) {
  const N share = sigmoid(x);
  return share * (N(1.0) + x * (N(1.0) - share));
}

// Falls, rises and falls again: extremes are at the ends or at the turning points.
Interval slope(Interval x) {
  constexpr double steepest = 2.399357280515467;
  return range_with_turns(x, {-steepest, steepest}, slope<double>);
}

struct GradSilu
    : CellwiseGradient<"{0} ∘ σ({1}) · (1 + {1} · (1 − σ({1})))",
                       [](const auto& change, const auto& x) { return change * slope(x); },
                       Role::self> {
  static constexpr GradientWords words{
      "Back through SiLU",
      "The gradient is multiplied by how steeply SiLU climbs at each number, σ(x) being "
      "1 / (1 + e^(−x)).",
      "Where is the slope negative?"};
};

using Multiply =
    Pairwise<"{0} · {1}, cell by cell", std::multiplies<>{}, [](Interval x) { return square(x); }>;

Tensor product(const StepView& step, const Tensor& a, const Tensor& b) {
  Call call = call_of(step);
  const bool repeats_first = a.values.size() < b.values.size();
  call.inputs = {repeats_first ? &b : &a, repeats_first ? &a : &b};
  return Multiply::compute(call);
}

// SwiGLU's product (Shazeer, 2020): SiLU(gate) ∘ up.
struct Gated {
  const Tensor* gate;
  const Tensor* up;
};

// Each way to read the product as SwiGLU's; empty if neither factor is a SiLU.
std::vector<Gated> gated(const StepView& step) {
  std::vector<Gated> found;
  for (std::size_t k = 0; k < 2; ++k) {
    const StepView& factor = *step.inputs[k];
    if (factor.operation == &silu_operation) {
      found.push_back({&factor.operand(), &step.operand(1 - k)});
    }
  }
  return found;
}

// The product with another gate in SiLU's place.
template <std::vector<Tensor> (*gate)(const Tensor&)>
std::vector<Tensor> by_gate(const StepView& step) {
  std::vector<Tensor> versions;
  for (const Gated& one : gated(step)) {
    for (const Tensor& let : gate(*one.gate)) versions.push_back(product(step, let, *one.up));
  }
  return versions;
}

std::vector<Tensor> swapped(const StepView& step) {
  std::vector<Tensor> versions;
  for (const Gated& one : gated(step)) {
    versions.push_back(product(step, *one.gate, gated_by_silu(*one.up).front()));
  }
  return versions;
}

std::vector<Tensor> of_product(const StepView& step) {
  std::vector<Tensor> versions;
  for (const Gated& one : gated(step)) {
    versions.push_back(gated_by_silu(product(step, *one.gate, *one.up)).front());
  }
  return versions;
}

std::vector<Tensor> added(const StepView& step) { return {add_operation.compute(call_of(step))}; }

constexpr Mistake multiply_mistakes[] = {
    {"swiglu.swapped", "SiLU was taken of the other factor.", "SiLU goes over the gate.", swapped},
    {"swiglu.of-product", "SiLU was taken of the product.",
     "First SiLU of the gate, then multiply.", of_product},
    {"swiglu.sigmoid", "The gate's sigmoid was multiplied, without the gate itself.",
     "SiLU is x times the sigmoid of x.", by_gate<gated_by_sigmoid>},
    {"swiglu.relu", "ReLU of the gate was multiplied instead of SiLU.", "Multiply by SiLU.",
     by_gate<gated_by_relu>},
    {"swiglu.gelu", "GELU of the gate was multiplied instead of SiLU.", "Multiply by SiLU.",
     by_gate<gated_by_gelu>},
    {"swiglu.added", "The two were added instead of multiplied.", "Multiply cell by cell.", added},
};

// C = A ∘ B: dA = dC ∘ B and dB = dC ∘ A.
struct GradFactor : CellwiseGradient<"{0} ∘ {2}", std::multiplies<>{}, Role::other> {
  static constexpr GradientWords words{
      "Back through a product, cell by cell",
      "A number that was multiplied changes the product by as much as the other factor is: the "
      "gradient is multiplied by the other factor. Where one number stood for many, theirs are "
      "added up.",
      "Where the other factor is 0, nothing comes back."};
};

}  // namespace

constinit const Operation silu_operation = operation_of<Silu>({
    .name = "silu",
    .title = "Let through what is positive, softly (SiLU)",
    .says = "Each number is multiplied by its sigmoid, 1 / (1 + e^(−x)), a share between 0 and 1. "
            "Large positive numbers pass, large negative ones become nearly 0. Also called swish.",
    .notice = "The lowest that a number can become is -0.2785, at x = -1.2785.",
    .operands = R"(["gate"])",
    .mistakes = silu_mistakes,
    .backward = backward_by<GradSilu>,
});

constinit const Operation multiply_operation = operation_of<Multiply>({
    .name = "multiply",
    .title = "Multiply, cell by cell",
    .says =
        "Two matrices of the same size are multiplied, each cell by the cell in the same place. "
        "Unlike a matrix product, nothing is added up. One row, one column or one number repeats.",
    .notice = "Where one of the two is near 0, so is the product: it works as a gate.",
    .operands = R"(["A", "B"])",
    .mistakes = multiply_mistakes,
    .backward = backward_by<Repeated<GradFactor>>,
});

}  // namespace qkv::inline ops
