#include "ops/tiles/running.hpp"
#include "ops/catalogue.hpp"
#include "ops/kinds/formula.hpp"
#include "ops/kinds/line.hpp"
#include "ops/tiles/tiles.hpp"

namespace qkv {
namespace {

bool goes_on(const Call& call) { return call.inputs.size() > 2; }

struct RunningOutput {
  static Form form(const Call& call) {
    if (!goes_on(call)) {
      return {{"query key", "key d_v"}, "query d_v", "{0} · {1}", "{1} · {0}"};
    }
    if (call.inputs.size() != 5) refuse(call, "running_output takes P and V, or O, m_old, m, P, V");
    const std::string rescaled = "e^({1} − {2}) · {0} + ";
    return {{"query d_v", "query 1", "query 1", "query key", "key d_v"},
            "query d_v",
            rescaled + "{3} · {4}",
            rescaled + "{4} · {3}"};
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    const std::size_t count = c.call->inputs.size();
    const auto weights = c(count - 2);
    const auto values = c(count - 1);
    const N tile = sum<N>(weights.columns,
                          [&](std::size_t t) { return weights(c.row, t) * values(t, c.column); });
    return goes_on(*c.call) ? rescaling(c) * c(0)(c.row, c.column) + tile : tile;
  }
};

const Source& weights_of(const Source& step) { return *step.inputs[step.inputs.size() - 2]; }

// The product that a tile adds, from these weights.
Tensor tile_of(const Source& step, const Tensor& weights) {
  Call call = call_of(step);
  call.inputs = {&weights, call.inputs.back()};
  return running_output_operation.compute(call);
}

template <Combination formula>
std::vector<Tensor> with_tile(const Source& step) {
  return combined(step, tile_of(step, *weights_of(step).tensor), formula);
}

// The output from weights that were worked from the maximum before the tile.
std::vector<Tensor> max_not_updated(const Source& step) {
  std::vector<Tensor> versions;
  for (const Tensor& weights : weights_by_old_max(weights_of(step))) {
    for (Tensor& one : combined(step, tile_of(step, weights), not_rescaled)) {
      versions.push_back(std::move(one));
    }
  }
  return versions;
}

double right(double before, double then, double now, double tile) {
  return power(then, now) * before + tile;
}

// Each row divided by its number of a column.
Tensor divided(const Tensor& numbers, const Tensor& column) {
  Call call{.step = "divided", .inputs = {&numbers, &column}, .names = {"O", "l"}};
  return by_operands(call, numbers, [](const Operands& of) -> Matrix {
    return xt::vectorize(share)(of(0), of(1));
  });
}

// The running sum of the same weights.
const Source* sum_beside(const Source& step) {
  for (const Source& other : step.all) {
    const bool is_sum = other.operation == &running_sum_operation;
    if (is_sum && other.inputs.back() == &weights_of(step)) return &other;
  }
  return nullptr;
}

// The tile divided by its own sum, or everything so far by the sum so far.
std::vector<Tensor> normalised_each_tile(const Source& step) {
  const Tensor& weights = *weights_of(step).tensor;
  const Tensor shares_of_tile =
      by_matrix(weights, [](const MatrixView& p) { return shares(p, Along::rows); });
  const Tensor tile = tile_of(step, shares_of_tile);
  std::vector<Tensor> versions = combined(step, tile, right);
  if (!goes_on(call_of(step))) versions.push_back(tile);
  const Source* total = sum_beside(step);
  if (!total || !goes_on(call_of(step))) return versions;
  versions.push_back(divided(*step.tensor, *total->tensor));
  if (total->inputs.size() < 4) return versions;
  Call call = call_of(step);
  const Tensor scaled =
      by_operands(call, *step.inputs[0]->tensor, [&](const Operands& of) -> Matrix {
        return of(0) * total->operand(0).matrix(of.at().matching(1));
      });
  call.inputs[0] = &scaled;
  versions.push_back(divided(running_output_operation.compute(call), *total->tensor));
  return versions;
}

constexpr Mistake running_output_mistakes[] = {
    {"flash.output-not-rescaled", "The output so far was not rescaled to the new maximum.",
     "e^(m_old − m) times the output before, then add the tile's.", with_tile<not_rescaled>},
    {"flash.rescaled-twice", "The output so far was rescaled twice.",
     "Multiply it once by e^(m_old − m).", with_tile<rescaled_twice>},
    {"flash.rescaled-backwards", "The output so far was multiplied by e^(m − m_old).",
     "The maximum rises, so what was before shrinks.", with_tile<rescaled_backwards>},
    {"flash.rescaled-backwards", "The tile's output was rescaled instead of the one before.",
     "What was before shrinks; the tile goes by the new maximum already.",
     with_tile<tile_rescaled>},
    {"flash.normalised-each-tile", "It was divided by a sum at this tile.",
     "Only in the end everything is divided once.", normalised_each_tile},
    {"flash.max-not-updated", "The tile's weights were worked from the maximum before it.",
     "The largest score so far, the tile's included.", max_not_updated},
};

}  // namespace

constinit const Operation running_output_operation = operation_of<RunningOutput>({
    .name = "running_output",
    .title = "The values mixed so far, rescaled to the new maximum",
    .says = "What was mixed before went by an older maximum. Multiplied by e to the old maximum "
            "less the new one it is as if the new one had been known from the start; then the "
            "tile's weights mix the tile's values. Divided by the sum of all weights, the last one "
            "is what plain attention gives.",
    .notice = "No tile is needed again after it was added.",
    .operands = R"(["P", "V"] or ["O", "m_old", "m", "P", "V"])",
    .fewest = 2,
    .most = 5,
    .mistakes = running_output_mistakes,
    .way_back = back_through_running_output,
});

}  // namespace qkv
