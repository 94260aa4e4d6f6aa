#include "lesson/model/inspection.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ops/catalogue.hpp"
#include "text/error.hpp"
#include "trace/evaluate.hpp"
#include "trace/labels.hpp"

namespace qkv {
namespace {

constexpr std::string_view readout = "probabilities";

Ablation without(const LoadedLesson& loaded, const Step& step, std::size_t matrix,
                 std::size_t answer) {
  Recipe recipe = recipe_behind(loaded, step);
  Tensor& context = recipe.givens.back().tensor;
  std::ranges::fill(context.write_cells(matrix), 0.0);
  WantedSteps wanted = {std::string(readout)};
  const auto& backward = loaded.lesson.backward;
  if (backward) wanted.push_back(backward->of);
  const Trace trace = evaluate(std::move(recipe), wanted);
  const Tensor& shares = trace.at(readout);
  const std::size_t last = shares.values.size() - shares.columns();
  return {.step = step.name,
          .head = head_of(step.output, matrix),
          .share = shares.values[last + answer],
          .loss = backward ? std::optional(trace.at(backward->of).values[0]) : std::nullopt,
          .guess = likeliest_of(shares, 1).front()};
}

// The steps from the last norm to the probabilities: each is made of the one before it.
std::vector<StepRecipe> readout_steps(const Recipe& recipe) {
  std::vector<StepRecipe> steps;
  std::string name(readout);
  for (std::size_t s = recipe.steps.size(); s-- > 0;) {
    const StepRecipe& step = recipe.steps[s];
    if (step.name != name || step.of.empty()) continue;
    steps.insert(steps.begin(), step);
    if (step.operation == &layer_norm_operation || step.operation == &rms_norm_operation) {
      return steps;
    }
    name = step.of[0];
  }
  throw InputError(
      "--lens: nothing here leads from a layer's stream over a norm to probabilities; it is for "
      "models, walked as a whole");
}

bool ends_a_layer(const Step& step) { return step.name.ends_with(".residual2"); }

}  // namespace

Recipe recipe_behind(const LoadedLesson& loaded, const Step& step) {
  const Trace& trace = loaded.trace;
  Recipe recipe = loaded.lesson.recipe;
  recipe.givens = trace.givens;
  for (const Step& before : trace.steps) {
    if (before.number <= step.number) recipe.givens.push_back({before.name, before.output});
  }
  recipe.steps.erase(recipe.steps.begin(),
                     recipe.steps.begin() + static_cast<std::ptrdiff_t>(step.number));
  return recipe;
}

std::vector<Ablation> ablations(const LoadedLesson& loaded) {
  const Step* shares = loaded.trace.find_step(readout);
  if (!shares) {
    throw InputError(
        "--ablate: nothing here ends in probabilities, which the heads could change; it is for "
        "models");
  }
  const std::size_t answer = likeliest_of(shares->output, 1).front().id;
  std::vector<Ablation> all;
  for (const Step& step : loaded.trace.steps) {
    if (step.operation != &weighted_sum_operation || step.number > shares->number) continue;
    for (std::size_t m = 0; m < step.output.matrices(); ++m) {
      all.push_back(without(loaded, step, m, answer));
    }
  }
  return all;
}

std::vector<Glimpse> glimpses(const LoadedLesson& loaded, std::size_t count) {
  const std::vector<StepRecipe> chain = readout_steps(loaded.lesson.recipe);
  Recipe recipe = loaded.lesson.recipe;
  recipe.givens = loaded.trace.givens;
  recipe.steps.clear();
  std::vector<Glimpse> all;
  WantedSteps wanted;
  for (const Step& layer : loaded.trace.steps) {
    if (!ends_a_layer(layer)) continue;
    recipe.givens.push_back({layer.name, layer.output});
    std::string before = layer.name;
    for (StepRecipe step : chain) {
      step.of[0] = before;
      before = step.name = layer.name + "." + step.name;
      recipe.steps.push_back(std::move(step));
    }
    wanted.push_back(before);
    all.push_back({.step = layer.name, .guesses = {}});
  }
  const Trace trace = evaluate(std::move(recipe), wanted);
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].guesses = likeliest_of(trace.at(wanted[i]), count);
  }
  return all;
}

}  // namespace qkv
