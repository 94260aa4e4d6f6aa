#include "check/conventions.hpp"

#include <algorithm>
#include <cmath>

#include "ops/catalogue.hpp"
#include "text/error.hpp"

namespace qkv {
namespace {

std::size_t place_of(const Recipe& recipe, std::string_view name) {
  for (std::size_t s = 0; s < recipe.steps.size(); ++s) {
    if (recipe.steps[s].name == name) return s;
  }
  return recipe.steps.size();
}

// The steps from `from` back along the first operands to the first one of `stop`, it included;
// empty where there is none.
std::vector<std::size_t> chain_back(const Recipe& recipe, const std::string& from,
                                    const Operation& stop) {
  std::vector<std::size_t> chain;
  std::string name = from;
  while (true) {
    const std::size_t at = place_of(recipe, name);
    if (at == recipe.steps.size() || recipe.steps[at].of.empty()) return {};
    chain.push_back(at);
    if (recipe.steps[at].operation == &stop) return chain;
    name = recipe.steps[at].of.front();
  }
}

// What the step divides by: 1 over what it makes of 1.
double divisor_of(const Trace& trace, const Step& scale) {
  Tensor ones = trace.at(scale.of.front());
  std::ranges::fill(ones.values.write(), 1.0);
  const Call call{.step = scale.name,
                  .inputs = {&ones},
                  .names = {scale.of.front()},
                  .options = &scale.options,
                  .environment = &trace.environment};
  const Tensor shares = scale.operation->compute(call);
  return shares.values.empty() ? 1 : 1 / shares.values.front();
}

// The lesson with a division by `divisor` put behind step `at`, which keeps its name, and none left
// at step `scale`.
Recipe with_division_at(const Recipe& recipe, std::size_t at, std::size_t scale, double divisor) {
  Recipe result{.convention = recipe.convention,
                .environment = recipe.environment,
                .tokens = recipe.tokens,
                .givens = {},
                .steps = recipe.steps};
  Options by_one;
  by_one.set("by", 1.0);
  result.steps[scale].options = by_one;
  StepRecipe& before = result.steps[at];
  Options by;
  by.set("by", divisor);
  StepRecipe division{.name = before.name,
                      .operation = &scale_operation,
                      .of = {before.name + ".unscaled"},
                      .options = by};
  before.name = division.of.front();
  result.steps.insert(result.steps.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                      std::move(division));
  return result;
}

}  // namespace

std::vector<ScaledEarly> scaled_early(const Recipe& recipe, const Trace& trace) {
  std::vector<ScaledEarly> results;
  for (std::size_t scale = 0; scale < recipe.steps.size(); ++scale) {
    if (recipe.steps[scale].operation != &scale_operation) continue;
    const std::vector<std::size_t> to_scores =
        chain_back(recipe, recipe.steps[scale].of.front(), score_operation);
    if (to_scores.empty()) continue;
    const Step* step = trace.find_step(recipe.steps[scale].name);
    if (!step) continue;
    const double divisor = divisor_of(trace, *step);
    std::vector<std::size_t> places = {to_scores.back()};
    const std::string& queries = recipe.steps[to_scores.back()].of.front();
    for (const std::size_t at : chain_back(recipe, queries, project_operation)) {
      places.push_back(at);
    }
    for (const std::size_t at : places) {
      results.push_back({with_division_at(recipe, at, scale, divisor), {}});
      for (std::size_t s = at; s <= scale; ++s)
        results.back().changed.push_back(recipe.steps[s].name);
    }
  }
  return results;
}

}  // namespace qkv
