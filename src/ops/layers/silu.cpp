#include <algorithm>
#include <cmath>

#include "ops/catalogue.hpp"
#include "ops/cell.hpp"
#include "ops/kinds/formula.hpp"
#include "ops/kinds/gradient.hpp"
#include "ops/layers/gated.hpp"
#include "ops/numbers/sigmoid.hpp"
#include "ops/shape_rule.hpp"

namespace qkv {
namespace {

// x · σ(x), σ being the sigmoid (Elfwing, Uchibe and Doya, 2017; Ramachandran and others call it
// swish).
template <class N>
N silu(const N& x) {
  using std::exp;
  return x / (N(1.0) + exp(opposite(x)));
}

// Falls down to one lowest point, then rises: the range ends at the two ends or at that point.
Interval silu(Interval x) {
  constexpr double lowest = -1.2784645427610738;
  Interval ends = hull(silu(x.low), silu(x.high));
  if (x.low < lowest && lowest < x.high) ends = hull(ends, silu(lowest));
  return ends;
}

struct Silu {
  static Form form(const Call&) { return {{"row column"}, "row column", "SiLU({0})"}; }

  template <class N>
  static N cell(const Cell<N>& c) {
    return silu(c(0)(c.row, c.column));
  }

  static Tensor compute(const Call& call) {
    const auto x = call.inputs[0]->array();
    return with_numbers(frame_of(call, form(call)), x / (1 + xt::exp(-x)));
  }
};

// What stands before the step: one of the forms of a gate.
template <std::vector<Tensor> (*gate)(const Tensor&)>
std::vector<Tensor> by_gate(const Source& step) {
  return gate(step.operand());
}

// SiLU of what the result is multiplied by later.
std::vector<Tensor> swapped(const Source& step) {
  std::vector<Tensor> versions;
  for (const Source& later : step.all) {
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
     "SiLU goes over the gate.", swapped},
    {"swiglu.sigmoid", "The sigmoid alone was taken: 1 / (1 + e^(−x)).",
     "SiLU is x times the sigmoid of x.", by_gate<gated_by_sigmoid>},
    {"swiglu.relu", "ReLU was taken instead of SiLU.", "x / (1 + e^(−x)).", by_gate<gated_by_relu>},
    {"swiglu.gelu", "GELU was taken instead of SiLU.", "x / (1 + e^(−x)).", by_gate<gated_by_gelu>},
};

// The slope of SiLU: σ(x) · (1 + x · (1 − σ(x))).
template <class N>
N slope(const N& x) {
  using std::exp;
  const N sigmoid = N(1.0) / (N(1.0) + exp(opposite(x)));
  return sigmoid * (N(1.0) + x * (N(1.0) - sigmoid));
}

// It falls, climbs and falls again: the range ends at the ends or where it turns.
Interval slope(Interval x) {
  constexpr double steepest = 2.399357280515467;
  Interval found = hull(slope(x.low), slope(x.high));
  for (const double turn : {-steepest, steepest}) {
    if (x.low < turn && turn < x.high) found = hull(found, slope(turn));
  }
  return found;
}

struct SiluBack {
  static Form form(const Call&) {
    return {{"row column"}, "row column", "{0} ∘ σ({1}) · (1 + {1} · (1 − σ({1})))"};
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    return c(arriving)(c.row, c.column) * slope(c(own_operand)(c.row, c.column));
  }

  static Tensor compute(const Call& call, Tensor whole) {
    constexpr std::size_t operations = 20;
    return by_rows(
        call, std::move(whole), operations, [](const Operands& of, std::span<double> cells) {
          const auto times_slope = [](double change, double x) { return change * slope(x); };
          std::ranges::transform(of.row(arriving), of.row(own_operand), cells.begin(), times_slope);
        });
  }
};

constinit const Operation silu_back = gradient_of<Gradient<SiluBack>>({
    .title = "Back through SiLU",
    .says = "The gradient is multiplied by how steeply SiLU climbs at each number, σ(x) being "
            "1 / (1 + e^(−x)).",
    .notice = "Where is the slope negative?",
});

WayBack back_through_silu(const Use&) { return {&silu_back}; }

}  // namespace

constinit const Operation silu_operation = operation_of<Silu>({
    .name = "silu",
    .title = "Let through what is positive, softly (SiLU)",
    .says = "Each number is multiplied by its sigmoid, 1 / (1 + e^(−x)), a share between 0 and 1. "
            "Large positive numbers pass, large negative ones become nearly 0. Also called swish.",
    .notice = "The lowest that a number can become is -0.2785, at x = -1.2785.",
    .operands = R"(["gate"])",
    .mistakes = silu_mistakes,
    .way_back = back_through_silu,
});

}  // namespace qkv
