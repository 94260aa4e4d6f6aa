#include "ops/catalogue.hpp"
#include "ops/heads/head_axis.hpp"
#include "ops/kinds/formula.hpp"
#include "ops/kinds/gradient.hpp"

namespace qkv {
namespace {

struct SumHeads {
  static Form form(const Call&) {
    return {{"row column"}, "row column", "the sum of {0} over the heads"};
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    const std::size_t heads = heads_of(c.input(0));
    return sum<N>(heads,
                  [&](std::size_t h) { return c.of(0, c.matrix * heads + h)(c.row, c.column); });
  }

  static Tensor compute(const Call& call) {
    refuse_without_heads(call, " to add over");
    const Tensor& all = *call.inputs[0];
    const std::size_t heads = heads_of(all);
    std::vector<Axis> axes = all.axes;
    axes.erase(axes.end() - 3);
    Tensor result = unwritten(std::move(axes));
    for (std::size_t m = 0; !result.values.empty() && m < result.matrices(); ++m) {
      MatrixToWrite total = result.write_matrix(m);
      total.fill(0);
      for (std::size_t head = 0; head < heads; ++head) total += all.matrix(m * heads + head);
    }
    return result;
  }
};

std::vector<Tensor> averaged(const Source& step) {
  const Tensor summed = SumHeads::compute(call_of(step));
  return {with_numbers(summed, summed.array() / static_cast<double>(heads_of(step.operand())))};
}

constexpr Mistake sum_heads_mistakes[] = {
    {"heads.averaged", "The heads' proposals were averaged instead of added.",
     "Every head adds its whole change.", averaged},
};

// Every head was added, so each gets the whole gradient.
struct SumHeadsBack {
  static Form form(const Call&) {
    return {{"row column"}, "row column", "{0}, the same for each head"};
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    return c.of(arriving, c.matrix / heads_of(c.input(own_operand)))(c.row, c.column);
  }

  static Tensor compute(const Call& call) {
    Shape due = call.inputs[own_operand]->shape();
    due.erase(due.end() - 3);
    require_arriving(call, due);
    return cell_by_cell(call, gradient_frame(call), cell<double>);
  }
};

constinit const Operation sum_heads_back = gradient_of<SumHeadsBack>({
    .title = "Back to each head",
    .says = "Every head's numbers were added: each gets the gradient of the sum, whole.",
    .notice = "All heads get the same.",
});

WayBack back_through_sum_heads(const Use&) { return {&sum_heads_back}; }

}  // namespace

constinit const Operation sum_heads_operation = operation_of<SumHeads>({
    .name = "sum_heads",
    .title = "Add up what the heads propose",
    .says = "Each head proposes a change to every token's vector. The changes are added.",
    .notice = "The same as joining the heads and multiplying with the whole of W_O.",
    .operands = R"(["changes"])",
    .mistakes = sum_heads_mistakes,
    .way_back = back_through_sum_heads,
});

}  // namespace qkv
