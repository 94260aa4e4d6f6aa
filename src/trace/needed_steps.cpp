#include "trace/needed_steps.hpp"

#include <algorithm>

#include "ops/attention/fused_attention.hpp"

namespace qkv::inline trace {
namespace {

// For each step, whether a requested one depends on it. Operands precede their step.
std::vector<bool> needed_steps(const Recipe& recipe, const RequestedSteps& wanted) {
  if (wanted.empty()) return std::vector<bool>(recipe.steps.size(), true);
  std::vector<bool> needed(recipe.steps.size());
  for (const std::string& name : wanted) {
    if (const auto step = step_index(recipe, name)) needed[*step] = true;
  }
  std::set<std::string_view> operands;
  for (std::size_t s = needed.size(); s-- > 0;) {
    const StepRecipe& step = recipe.steps[s];
    if (operands.contains(step.name)) needed[s] = true;
    if (!needed[s]) continue;
    operands.insert(step.of.begin(), step.of.end());
    operands.insert(step.through);
  }
  return needed;
}

/// The position of each needed step, and how many operands of needed steps refer to it.
struct StepUses {
  std::size_t step = 0;
  std::size_t uses = 0;
};
using UsesByName = std::map<std::string_view, StepUses>;

UsesByName uses_of_steps(const Recipe& recipe, const Liveness& liveness) {
  UsesByName uses;
  for (std::size_t s = 0; s < recipe.steps.size(); ++s) {
    if (liveness.needed[s]) uses[recipe.steps[s].name].step = s;
  }
  for (std::size_t s = 0; s < recipe.steps.size(); ++s) {
    if (!liveness.needed[s]) continue;
    for (const std::string& name : recipe.steps[s].of) {
      if (const auto operand = uses.find(name); operand != uses.end()) ++operand->second.uses;
    }
  }
  return uses;
}

AttentionPart part_of(const StepRecipe& step) {
  return step.operation ? attention_part(*step.operation) : AttentionPart::none;
}

// The steps of an attention that ends with step `s`; empty unless only its result is needed.
std::vector<std::size_t> attention_to(std::size_t s, const Recipe& recipe, const Liveness& liveness,
                                      const UsesByName& all) {
  std::vector<std::size_t> steps = {s};
  AttentionPart expected = AttentionPart::weights;
  while (true) {
    const StepRecipe& step = recipe.steps[steps.back()];
    const auto operand = step.of.empty() ? all.end() : all.find(step.of.front());
    if (operand == all.end() || operand->second.uses != 1 ||
        liveness.wanted.contains(operand->first))
      return {};
    if (operand->second.step >= steps.back()) return {};
    steps.push_back(operand->second.step);
    const AttentionPart part = part_of(recipe.steps[steps.back()]);
    const bool is_start = part == AttentionPart::scores && expected == AttentionPart::between;
    if (part != expected && !is_start) return {};
    expected = AttentionPart::between;
    if (!is_start) continue;
    std::ranges::reverse(steps);
    return steps;
  }
}

}  // namespace

Liveness::Liveness(const Recipe& recipe, const RequestedSteps& asked)
    : needed(needed_steps(recipe, asked)), wanted(asked.begin(), asked.end()), kept(wanted) {
  for (const std::string& name : asked) {
    const auto step = step_index(recipe, name);
    if (!step) continue;
    wanted.insert(recipe.steps[*step].name);
    kept.insert(recipe.steps[*step].name);
    kept.insert(recipe.steps[*step].of.begin(), recipe.steps[*step].of.end());
  }
  for (std::size_t s = 0; s < recipe.steps.size(); ++s) {
    if (!needed[s]) continue;
    for (const std::string& name : recipe.steps[s].of) last_uses[name] = s;
  }
}

std::vector<std::vector<std::size_t>> fused_attentions(const Recipe& recipe,
                                                       const Liveness& liveness) {
  std::vector<std::vector<std::size_t>> attentions;
  const UsesByName all = uses_of_steps(recipe, liveness);
  for (std::size_t s = 0; s < recipe.steps.size(); ++s) {
    if (!liveness.needed[s] || part_of(recipe.steps[s]) != AttentionPart::result) continue;
    std::vector<std::size_t> steps = attention_to(s, recipe, liveness, all);
    if (!steps.empty()) attentions.push_back(std::move(steps));
  }
  return attentions;
}

}  // namespace qkv::inline trace
