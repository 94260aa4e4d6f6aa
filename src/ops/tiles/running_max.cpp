#include "ops/catalogue.hpp"
#include "ops/kinds/gradient.hpp"
#include "ops/kinds/largest_back.hpp"
#include "ops/numbers/larger.hpp"
#include "ops/tiles/tiles.hpp"

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

// The largest score gets the gradient, or what was the largest before; equal ones share it.
struct ToScoresOfMax {
  static Form form(const Call& call) {
    return {{"query 1", "query key", "query 1"},
            "query key",
            call.inputs.size() > first_need ? "{0}, where {1} is largest, and above {2}"
                                            : "{0}, where {1} is largest"};
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    const Line<N> scores{c(own_operand), c.row, false};
    N change = c(arriving)(c.row, 0);
    if (c.call->inputs.size() > first_need) {
      change =
          change_of_larger(change, largest_of<N>(scores.size(), scores), c(first_need)(c.row, 0));
    }
    return change_of_largest(change, scores, c.column);
  }
};

struct ToMaxBefore {
  static Form form(const Call&) {
    return {{"query 1", "query 1", "query key"}, "query 1", "{0}, where {1} is above all of {2}"};
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    const Line<N> scores{c(first_need), c.row, false};
    return change_of_larger(c(arriving)(c.row, 0), c(own_operand)(c.row, 0),
                            largest_of<N>(scores.size(), scores));
  }
};

constinit const Operation max_to_scores = gradient_of<Gradient<ToScoresOfMax>>({
    .title = "Back to the largest score",
    .says = "Only the largest score so far is seen in the result: if the tile has it, it gets the "
            "gradient.",
    .notice = "In the end the maximum cancels out: its gradients sum to 0.",
});

constinit const Operation max_to_before = gradient_of<Gradient<ToMaxBefore>>({
    .title = "Back to the maximum before",
    .says = "Where the maximum did not rise, the one from before gets the gradient.",
    .notice = "0 where the tile has a larger score.",
});

WayBack back_through_max(const Use& use) {
  if (use.operands == 1) return {&max_to_scores};
  if (use.operand == 0) return {&max_to_before, {1}};
  return {&max_to_scores, {0}};
}

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
    .way_back = back_through_max,
});

}  // namespace qkv
