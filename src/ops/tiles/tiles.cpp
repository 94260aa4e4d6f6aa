#include "ops/tiles/tiles.hpp"

#include "ops/catalogue.hpp"
#include "ops/kinds/formula.hpp"

namespace qkv {

double not_rescaled(double before, double, double, double tile) { return before + tile; }

double rescaled_twice(double before, double then, double now, double tile) {
  const double factor = power(then, now);
  return factor * factor * before + tile;
}

double rescaled_backwards(double before, double then, double now, double tile) {
  return power(now, then) * before + tile;
}

double tile_rescaled(double before, double then, double now, double tile) {
  return before + power(then, now) * tile;
}

std::vector<Tensor> combined(const Source& step, const Tensor& tile, Combination formula) {
  Call call = call_of(step);
  if (call.inputs.size() < 4) return {};
  call.inputs = {call.inputs[0], call.inputs[1], call.inputs[2], &tile};
  return {by_operands(call, *step.tensor, [&](const Operands& of) -> Matrix {
    return xt::vectorize(formula)(of(0), of(1), of(2), of(3));
  })};
}

TileScores scores_behind(const Source& weights) {
  if (weights.operation != &tile_weights_operation) return {};
  const Source& top = *weights.inputs[1];
  const bool goes_on = top.operation == &running_max_operation && top.inputs.size() == 2;
  return {weights.inputs[0], goes_on ? top.inputs[0] : nullptr};
}

std::vector<Tensor> weights_by_old_max(const Source& weights) {
  const TileScores tile = scores_behind(weights);
  if (!tile.before) return {};
  Call call = call_of(weights);
  call.inputs[1] = tile.before->tensor;
  return {tile_weights_operation.compute(call)};
}

}  // namespace qkv
