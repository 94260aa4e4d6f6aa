#include "check/judge/other_units.hpp"

#include <algorithm>
#include <numbers>

#include "ops/backward_rule.hpp"
#include "ops/catalogue.hpp"

namespace qkv {
namespace {

Recipe without_givens(const Recipe& recipe) {
  return {.convention = recipe.convention,
          .environment = recipe.environment,
          .tokens = recipe.tokens,
          .givens = {},
          .steps = {}};
}

StepRecipe divided(std::string name, const std::string& operand, double by) {
  StepRecipe step{
      .name = std::move(name), .operation = &scale_operation, .of = {operand}, .options = {}};
  step.options.set("by", by);
  return step;
}

// Each log-sum-exp divided by ln 2 under its own name; what goes on from it has e's again.
OtherUnits with_base_2(const Recipe& recipe) {
  OtherUnits result{.id = "convention.lse-base", .recipe = without_givens(recipe), .changed = {}};
  std::vector<StepRecipe>& steps = result.recipe.steps;
  for (StepRecipe step : recipe.steps) {
    for (std::string& operand : step.of) {
      if (std::ranges::find(result.changed, operand) != result.changed.end()) operand += ".by_e";
    }
    if (step.operation != &log_sum_exp_operation) {
      steps.push_back(std::move(step));
      continue;
    }
    const std::string name = step.name;
    step.name += ".before";
    steps.push_back(step);
    steps.push_back(divided(name, step.name, std::numbers::ln2));
    steps.push_back(divided(name + ".by_e", name, std::numbers::log2e));
    result.changed.push_back(name);
  }
  return result;
}

// Whether the step takes a gradient back through the loss.
bool goes_back_through(const StepRecipe& step, const StepRecipe& loss) {
  const WayBack way = loss.operation->way_back({0, loss.of.size(), &loss.options});
  return step.operation == way.operation && step.of[1] == loss.of[0];
}

// The loss of the step added up for averaged, or averaged for added up, and so its gradient.
OtherUnits with_other_reduction(const Recipe& recipe, const StepRecipe& loss) {
  OtherUnits result{.id = "convention.reduction",
                    .recipe = without_givens(recipe),
                    .changed = {loss.name},
                    .must_be_followed = true};
  result.recipe.steps = recipe.steps;
  for (StepRecipe& step : result.recipe.steps) {
    const bool goes_back = goes_back_through(step, loss);
    const bool goes_on =
        goes_back || std::ranges::any_of(step.of, [&](const std::string& operand) {
          return std::ranges::find(result.changed, operand) != result.changed.end();
        });
    if (goes_back || step.name == loss.name) {
      const bool is_sum = step.options.word("reduction", "mean") == "sum";
      step.options.set("reduction", std::string(is_sum ? "mean" : "sum"));
    }
    if (goes_on && step.name != loss.name) {
      result.changed.push_back(step.name);
      result.following.push_back(step.name);
    }
  }
  return result;
}

}  // namespace

std::vector<OtherUnits> in_other_units(const Recipe& recipe) {
  std::vector<OtherUnits> results;
  OtherUnits base_2 = with_base_2(recipe);
  if (!base_2.changed.empty()) results.push_back(std::move(base_2));
  for (const StepRecipe& step : recipe.steps) {
    const bool is_reduced = step.operation == &cross_entropy_operation &&
                            step.options.word("reduction", "mean") != "none";
    if (is_reduced) results.push_back(with_other_reduction(recipe, step));
  }
  return results;
}

}  // namespace qkv
