#include "ops/catalogue.hpp"
#include "ops/larger.hpp"
#include "ops/tiles.hpp"

namespace qkv {
namespace {

struct RunningMax {
  static Form form(const Call& call) {
    if (is_first_tile(call)) {
      if (call.inputs[0]->columns() == 0) refuse(call, operand_text(call, 0) + " has no scores");
      return {{"query key"},
              "query 1",
              "the largest of each row of {0}",
              "the largest of each column of {0}"};
    }
    return {{"query 1", "query key"},
            "query 1",
            "the largest of {0} and each row of {1}",
            "the largest of {0} and each column of {1}"};
  }

  // What was the largest before, then the scores of the tile.
  template <class N>
  static N cell(const Cell<N>& c) {
    const std::size_t before = c.call->inputs.size() - 1;
    const auto scores = c(before);
    return largest_of<N>(before + scores.columns, [&](std::size_t t) {
      return t < before ? c(0)(c.row, 0) : scores(c.row, t - before);
    });
  }
};

// The maximum of before, or that of the tile alone.
std::vector<Tensor> not_updated(const Source& step) {
  if (step.inputs.size() < 2) return {};
  Call tile = call_of(step);
  tile.inputs.erase(tile.inputs.begin());
  return {step.operand(), step.operation->compute(tile)};
}

constexpr Mistake running_max_mistakes[] = {
    {"flash.max-not-updated", "The maximum before and that of the tile were not compared.",
     "The larger of the two is the maximum so far.", not_updated},
};

}  // namespace

constinit const Operation running_max_operation = operation_of<RunningMax>({
    .name = "running_max",
    .title = "The largest score of each row so far",
    .says = "Attention in tiles sees a few keys at a time. Of each query the largest score so far "
            "is kept: that of the tile, or the one from before where it is larger.",
    .notice = "From tile to tile it can only rise.",
    .operands = R"(["S"] or ["m", "S"])",
    .most = 2,
    .mistakes = running_max_mistakes,
});

}  // namespace qkv
