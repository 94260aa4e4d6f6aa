#include "ops/catalogue.hpp"
#include "ops/kinds/formula.hpp"
#include "ops/kinds/gradient.hpp"

namespace qkv {
namespace {

// The loss by itself.
struct Seed {
  static Form form(const Call&) { return {{"row column"}, "row column", "∂{0}/∂{0}"}; }

  template <class N>
  static N cell(const Cell<N>&) {
    return 1.0;
  }

  static Tensor compute(const Call& call) {
    Tensor one = unwritten(as_matrix({.axes = call.inputs[0]->axes, .values = {}}).axes);
    if (one.values.size() != 1) {
      refuse(call, operand_text(call, 0) +
                       " is no single number; write from = { output = \"d_output\" } with the "
                       "gradient that arrives there as a [[given]]");
    }
    one.values.write()[0] = 1;
    return one;
  }
};

// What comes back through each of its uses, added up.
struct SumOfUses {
  static Form form(const Call& call) {
    std::string formula = "{0}";
    for (std::size_t k = 1; k < call.inputs.size(); ++k)
      formula += " + {" + std::to_string(k) + "}";
    return {{"row column"}, "row column", std::move(formula)};
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    return sum<N>(c.call->inputs.size(), [&](std::size_t k) { return c(k)(c.row, c.column); });
  }

  static Tensor compute(const Call& call) {
    return sum_of(call, [](std::size_t) { return true; });
  }

  template <class Is>
  static Tensor sum_of(const Call& call, const Is& is_added) {
    Tensor total = unwritten(call.inputs[0]->axes);
    const std::span<double> cells = total.values.write();
    std::ranges::fill(cells, 0.0);
    for (std::size_t k = 0; k < call.inputs.size(); ++k) {
      if (call.inputs[k]->shape() != total.shape()) {
        refuse(call, operand_text(call, k) + " has not the shape of " + operand_text(call, 0));
      }
      const std::span<const double> part(call.inputs[k]->values);
      for (std::size_t i = 0; is_added(k) && i < cells.size(); ++i) cells[i] += part[i];
    }
    return total;
  }
};

bool passes_a_residual(const Source& use) {
  return use.operation && use.operation == add_operation.way_back({}).operation;
}

// Without one of the uses, which are residuals or are none.
template <bool residuals>
std::vector<Tensor> without_one(const Source& step) {
  std::vector<Tensor> results;
  const Call call = call_of(step);
  for (std::size_t skipped = 0; skipped < step.inputs.size(); ++skipped) {
    if (passes_a_residual(*step.inputs[skipped]) != residuals) continue;
    results.push_back(SumOfUses::sum_of(call, [&](std::size_t k) { return k != skipped; }));
  }
  return results;
}

std::vector<Tensor> one_path(const Source& step) {
  std::vector<Tensor> results = without_one<false>(step);
  const Call call = call_of(step);
  for (std::size_t only = 0; step.inputs.size() > 2 && only < step.inputs.size(); ++only) {
    results.push_back(SumOfUses::sum_of(call, [&](std::size_t k) { return k == only; }));
  }
  return results;
}

constexpr Mistake sum_of_uses_mistakes[] = {
    {"backward.residual-skipped", "What comes back along the residual was left out.",
     "Past the block goes a road of its own: its gradient is added.", without_one<true>},
    {"backward.one-path", "One of several uses was left out.",
     "It was used more than once: every use sends a gradient back.", one_path},
};

}  // namespace

constinit const Operation seed_operation = operation_of<Seed>({
    .name = backward_name,
    .title = "Where the way back begins",
    .says = "If the loss grows by something, it grows by just that: its gradient by itself is 1.",
    .notice = "From here on each gradient is worked out from the one before.",
});

constinit const Operation sum_of_uses_operation = operation_of<SumOfUses>({
    .name = backward_name,
    .title = "Add up what comes back",
    .says = "What was used more than once gets a gradient through each of its uses. They are "
            "added up.",
    .notice = "Which of the uses sends back the most?",
    .fewest = 1,
    .most = 1024,
    .mistakes = sum_of_uses_mistakes,
});

}  // namespace qkv
