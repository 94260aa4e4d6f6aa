#include "check/judge/conventions.hpp"

#include <algorithm>
#include <cmath>

#include "ops/attention/position_bias.hpp"
#include "ops/catalogue.hpp"
#include "trace/evaluate.hpp"

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

// The places that an operation's record names: behind the first step, or behind any from it back.
std::vector<std::size_t> places_before(const Recipe& recipe, const StepRecipe& step,
                                       const Elsewhere& elsewhere) {
  std::vector<std::size_t> places;
  const std::string* from = &step.of.front();
  for (const Operation* stop : elsewhere.behind) {
    const std::vector<std::size_t> chain = chain_back(recipe, *from, *stop);
    if (chain.empty()) return places;
    const bool is_first = places.empty();
    places.insert(places.end(), is_first ? chain.end() - 1 : chain.begin(), chain.end());
    from = &recipe.steps[chain.back()].of.front();
  }
  return places;
}

// The lesson with step `moved` put behind step `at`, which keeps its name, and nothing left to do
// where it stood.
Recipe with_step_at(const Recipe& recipe, std::size_t at, std::size_t moved, const Options& there) {
  Recipe result{.convention = recipe.convention,
                .environment = recipe.environment,
                .tokens = recipe.tokens,
                .givens = {},
                .steps = recipe.steps};
  const Operation* operation = recipe.steps[moved].operation;
  result.steps[moved].options = operation->elsewhere->here();
  StepRecipe& before = result.steps[at];
  StepRecipe step{.name = before.name,
                  .operation = operation,
                  .of = {before.name + ".before"},
                  .options = there};
  before.name = step.of.front();
  result.steps.insert(result.steps.begin() + static_cast<std::ptrdiff_t>(at) + 1, std::move(step));
  return result;
}

}  // namespace

std::vector<TakenElsewhere> taken_elsewhere(const Recipe& recipe, const Trace& trace) {
  std::vector<TakenElsewhere> results;
  for (std::size_t s = 0; s < recipe.steps.size(); ++s) {
    const StepRecipe& step = recipe.steps[s];
    const Step* made = trace.find_step(step.name);
    if (!made || !step.operation->elsewhere) continue;
    const Options there = step.operation->elsewhere->there(trace.call(*made));
    for (const std::size_t at : places_before(recipe, step, *step.operation->elsewhere)) {
      results.push_back({with_step_at(recipe, at, s, there), {}});
      for (std::size_t k = at; k <= s; ++k) results.back().changed.push_back(recipe.steps[k].name);
    }
  }
  return results;
}

namespace {

bool have_same_weights(const Trace& a, const Trace& b) {
  const auto near = [](double x, double y) { return std::abs(x - y) <= 1e-9; };
  return std::ranges::all_of(a.steps, [&](const Step& step) {
    return step.operation != &softmax_operation ||
           std::ranges::equal(step.output.values, b.at(step.name).values, near);
  });
}

}  // namespace

std::vector<TakenElsewhere> counted_from_ends(const Recipe& recipe, const Trace& trace) {
  std::vector<TakenElsewhere> results;
  for (const std::string end : {"first", "last"}) {
    TakenElsewhere counted{{.convention = recipe.convention,
                            .environment = recipe.environment,
                            .tokens = recipe.tokens,
                            .givens = {},
                            .steps = recipe.steps},
                           {}};
    for (StepRecipe& step : counted.recipe.steps) {
      if (step.operation != &alibi_operation) continue;
      step.options.set(std::string(alibi_counted), end);
      counted.changed.push_back(step.name);
    }
    if (counted.changed.empty()) return {};
    Recipe whole = counted.recipe;
    whole.givens = trace.givens;
    if (have_same_weights(trace, evaluate_all(std::move(whole)).trace)) {
      results.push_back(std::move(counted));
    }
  }
  return results;
}

}  // namespace qkv
