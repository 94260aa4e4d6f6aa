#include <fmt/format.h>

#include "ops/catalogue.hpp"
#include "ops/formula.hpp"
#include "text/error.hpp"

namespace qkv {
namespace {

struct SumHeads {
  static Form form(const Call&) {
    return {{"row column"}, "row column", "the sum of {0} over the heads"};
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    const Tensor& all = c.input(0);
    const std::size_t heads = all.axes[all.leading_axes() - 1].size;
    return sum<N>(heads,
                  [&](std::size_t h) { return c.of(0, c.matrix * heads + h)(c.row, c.column); });
  }

  static Tensor compute(const Call& call) {
    const Tensor& all = *call.inputs[0];
    const std::size_t leading = all.leading_axes();
    if (leading == 0 || all.axes[leading - 1].name == "batch") {
      throw InputError(fmt::format("{}: {} ({}) has no axis of heads to add over", call.step,
                                   call.names[0], shape_text(all.shape())));
    }
    std::vector<Axis> axes = all.axes;
    axes.erase(axes.end() - 3);
    Tensor result = unwritten(std::move(axes));
    const std::size_t heads = all.axes[leading - 1].size;
    for (std::size_t m = 0; !result.values.empty() && m < result.matrices(); ++m) {
      MatrixToWrite total = result.write_matrix(m);
      total.fill(0);
      for (std::size_t head = 0; head < heads; ++head) total += all.matrix(m * heads + head);
    }
    return result;
  }
};

std::vector<Tensor> averaged(const Source& step) {
  const Tensor& all = *step.inputs[0]->tensor;
  const Tensor summed = SumHeads::compute(call_of(step));
  const auto heads = static_cast<double>(all.axes[all.leading_axes() - 1].size);
  return {with_numbers(summed, summed.array() / heads)};
}

constexpr Mistake sum_heads_mistakes[] = {
    {"heads.averaged", "The heads' proposals were averaged instead of added.",
     "Every head adds its whole change.", averaged},
};

}  // namespace

constinit const Operation sum_heads_operation{
    .name = "sum_heads",
    .title = "Add up what the heads propose",
    .says = "Each head proposes a change to every token's vector. The changes are added.",
    .notice = "The same as joining the heads and multiplying with the whole of W_O.",
    .operands = R"(["changes"])",
    .form = SumHeads::form,
    .compute = SumHeads::compute,
    .cell = readings_of<SumHeads>(),
    .mistakes = sum_heads_mistakes,
};

}  // namespace qkv
