#include "check/judge/room.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "ops/cell.hpp"

namespace qkv::inline check {
namespace {

// A given is not rounded: a copied number is the lesson's or the learner's.
Range range_of_given(const LearnerNode& node) {
  Range range{*node.truth, *node.truth};
  if (!node.submitted) return range;
  for (std::size_t i = 0; i < range.low.values.size(); ++i) {
    if (!node.has_number(i)) continue;
    const double own = node.own.values[i];
    const bool wrong = node.verdicts[i] == Verdict::wrong;
    range.low.values.write()[i] = wrong ? own : std::min(own, range.low.values[i]);
    range.high.values.write()[i] = wrong ? own : std::max(own, range.high.values[i]);
  }
  return range;
}

// Bounds each cell by itself.
Range slow_range(const LearnerNode& node, const Call& call, std::span<const Bounds> bounds) {
  Range result{node.from_yours, node.from_yours};
  const std::span<double> low = result.low.values.write();
  const std::span<double> high = result.high.values.write();
  constexpr std::size_t operations = 64;
  each_cell<Interval>({{.call = &call, .output = &node.from_yours}, bounds}, operations,
                      [&](const Cell<Interval>& cell, std::size_t i) {
                        const Interval range = node.step->operation->cell.interval(cell);
                        low[i] = std::isnan(range.low) ? -infinity : range.low;
                        high[i] = std::isnan(range.high) ? infinity : range.high;
                      });
  return result;
}

}  // namespace

Range Ranges::of_step(const LearnerNode& node) {
  if (node.inputs.empty() || node.has_lessons_inputs) {  // no rounding
    return {node.from_yours, node.from_yours};
  }
  const Call call = own_call(judgement_, trace_, node);
  std::vector<Bounds> bounds;
  for (const std::size_t input : node.inputs) {
    const Range& range = of_node(input);
    bounds.push_back({&range.low, &range.high});
  }
  const Operation& operation = *node.step->operation;
  constexpr std::size_t many_cells = 2048;
  if (operation.range && node.from_yours.values.size() >= many_cells) {
    if (auto range = operation.range(call, bounds, node.from_yours)) return std::move(*range);
  }
  return slow_range(node, call, bounds);
}

const Range& Ranges::of_node(std::size_t index) {
  const auto found = known_.find(index);
  if (found != known_.end()) return found->second;
  const LearnerNode& node = judgement_.nodes[index];
  return known_.emplace(index, node.step ? of_made(index) : range_of_given(node)).first->second;
}

Range Ranges::of_made(std::size_t index) {
  const LearnerNode& node = judgement_.nodes[index];
  bool complete = node.submitted != nullptr;
  for (std::size_t i = 0; complete && i < node.verdicts.size(); ++i) complete = node.has_number(i);
  Range range = complete ? Range{node.own, node.own} : of_step(node);
  // A program rounds all its results to its type, exact or not.
  const std::span<const Decimal> exact = units_.are_written()
                                             ? exactness_.entering(index, units_.decimals)
                                             : std::span<const Decimal>();
  const double unsubmitted = complete ? 0 : units_.unsubmitted(node.own.values);
  const std::span<double> low = range.low.values.write();
  const std::span<double> high = range.high.values.write();
  for (std::size_t i = 0; i < low.size(); ++i) {
    const bool own = node.has_number(i);
    if (!exact.empty() && exact[i].is_exact()) {  // no rounding occurs
      low[i] = high[i] = exact[i].value();
      continue;
    }
    const double unit = own ? node.units.of(i) : unsubmitted;
    const double from = own ? node.own.values[i] : low[i];
    low[i] = std::max(from - unit, std::min(from, node.step->operation->least));
    high[i] = (own ? node.own.values[i] : high[i]) + unit;
  }
  return range;
}

}  // namespace qkv::inline check
