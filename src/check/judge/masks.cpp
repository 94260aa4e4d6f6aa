#include "check/judge/masks.hpp"

#include <algorithm>
#include <cmath>

#include "check/tolerance/precision.hpp"
#include "text/error.hpp"

namespace qkv {
namespace {

bool is_near(double x, double y, double reach) { return std::abs(x - y) <= reach; }

// Whether a low number is near the one that the cell should hold.
bool is_score(const LearnerNode& node, std::size_t i, double value) {
  const double near = std::abs(value) / 10;
  return !is_hidden(node, i) && (is_near(value, node.truth->values[i], near) ||
                                 is_near(value, node.from_yours.values[i], near));
}

// The step made of finite masks as they were typed: -1000 / √2 is a mask as well. Empty where none
// went into it.
Tensor worked_from_typed(const Judgement& judgement, const Trace& trace, const LearnerNode& node) {
  const auto has_masks = [&](std::size_t k) { return judgement.nodes[k].finite_mask; };
  if (!node.step || std::none_of(node.inputs.begin(), node.inputs.end(), has_masks)) return {};
  std::vector<Tensor> typed;
  for (const std::size_t k : node.inputs) {
    const LearnerNode& input = judgement.nodes[k];
    typed.push_back(input.own);
    for (std::size_t i = 0; has_masks(k) && input.handed && i < typed.back().values.size(); ++i) {
      if (input.has_number(i)) typed.back().values.write()[i] = input.handed->cells[i].value;
    }
  }
  Call call = own_call(judgement, trace, node);
  for (std::size_t k = 0; k < typed.size(); ++k) call.inputs[k] = &typed[k];
  try {
    return node.step->operation->compute(call);
  } catch (const InputError&) {
    return {};
  }
}

}  // namespace

bool is_hidden(const LearnerNode& node, std::size_t i) {
  return node.truth->values[i] == -infinity || node.from_yours.values[i] == -infinity;
}

std::vector<std::size_t> finite_masks(const Judgement& judgement, const Trace& trace,
                                      const LearnerNode& node) {
  const std::span<const double> truth = node.truth->values;
  if (std::find(truth.begin(), truth.end(), -infinity) == truth.end()) return {};
  const Tensor typed = worked_from_typed(judgement, trace, node);
  const Cells& cells = node.handed->cells;
  std::vector<std::size_t> masks;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const double value = cells[i].value;
    if (!std::isfinite(value)) continue;
    const bool follows = is_hidden(node, i) && !typed.values.empty() &&
                         typed.values[i] <= finite_mask / 10 &&
                         is_near(value, typed.values[i], std::abs(typed.values[i]) / 100);
    if ((value <= finite_mask && !is_score(node, i, value)) || follows) masks.push_back(i);
  }
  return masks;
}

}  // namespace qkv
