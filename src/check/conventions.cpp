#include "check/conventions.hpp"

#include "ops/operation.hpp"

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

}  // namespace qkv
