#include "ops/catalogue.hpp"
#include "ops/kinds/formula.hpp"
#include "ops/tiles/running.hpp"
#include "ops/tiles/tiles.hpp"

namespace qkv {
namespace {

struct RunningSum {
  static Form form(const Call& call) {
    if (is_first_tile(call)) {
      return {
          {"query key"}, "query 1", "the sum of each row of {0}", "the sum of each column of {0}"};
    }
    if (call.inputs.size() != 4) refuse(call, "running_sum takes P, or l, m_old, m and P");
    const std::string rescaled = "e^({1} − {2}) · {0} + the sum of each ";
    return {{"query 1", "query 1", "query 1", "query key"},
            "query 1",
            rescaled + "row of {3}",
            rescaled + "column of {3}"};
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    const auto weights = c(c.call->inputs.size() - 1);
    const N tile = sum<N>(weights.columns, [&](std::size_t t) { return weights(c.row, t); });
    return is_first_tile(*c.call) ? tile : rescaling(c) * c(0)(c.row, 0) + tile;
  }
};

// What the tile adds.
Tensor sum_of(const Tensor& weights) {
  Tensor total = unwritten_like(weights);
  total.axes.back() = {.name = "", .size = 1};
  total = unwritten(total.axes);
  for (std::size_t m = 0; !total.values.empty() && m < total.matrices(); ++m) {
    xt::noalias(total.write_matrix(m)) = sums(weights.matrix(m));
  }
  return total;
}

template <Combination formula>
std::vector<Tensor> with_tile(const Source& step) {
  return combined(step, sum_of(*step.inputs.back()->tensor), formula);
}

// The sum of weights that were worked from the maximum before the tile.
std::vector<Tensor> max_not_updated(const Source& step) {
  std::vector<Tensor> versions;
  for (const Tensor& weights : weights_by_old_max(*step.inputs.back())) {
    for (Tensor& one : combined(step, sum_of(weights), not_rescaled)) {
      versions.push_back(std::move(one));
    }
  }
  return versions;
}

constexpr Mistake running_sum_mistakes[] = {
    {"flash.sum-not-rescaled", "The sum so far was not rescaled to the new maximum.",
     "e^(m_old − m) times the sum before, then add the tile's.", with_tile<not_rescaled>},
    {"flash.rescaled-twice", "The sum so far was rescaled twice.",
     "Multiply it once by e^(m_old − m).", with_tile<rescaled_twice>},
    {"flash.rescaled-backwards", "The sum so far was multiplied by e^(m − m_old).",
     "The maximum rises, so what was before shrinks.", with_tile<rescaled_backwards>},
    {"flash.rescaled-backwards", "The tile's sum was rescaled instead of the one before.",
     "What was before shrinks; the tile goes by the new maximum already.",
     with_tile<tile_rescaled>},
    {"flash.max-not-updated", "The tile's weights were worked from the maximum before it.",
     "The largest score so far, the tile's included.", max_not_updated},
};

}  // namespace

constinit const Operation running_sum_operation = operation_of<RunningSum>({
    .name = "running_sum",
    .title = "The sum so far, rescaled to the new maximum",
    .says = "What was added up before went by an older maximum. Multiplied by e to the old maximum "
            "less the new one it is as if the new one had been known from the start; then the "
            "tile's numbers are added.",
    .notice = "Where the maximum did not rise, the factor is 1.",
    .operands = R"(["P"] or ["l", "m_old", "m", "P"])",
    .most = 4,
    .least = 0,
    .mistakes = running_sum_mistakes,
    .way_back = back_through_running_sum,
});

}  // namespace qkv
