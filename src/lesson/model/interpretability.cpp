#include "lesson/model/predictions.hpp"

#include <numeric>

#include "lesson/prose.hpp"

namespace qkv::inline lesson {
namespace {

constexpr HeadMeasure measures[] = {
    {"entropy", &HeadStats::entropy},   {"largest", &HeadStats::largest},
    {"previous", &HeadStats::previous}, {"first", &HeadStats::first},
    {"itself", &HeadStats::itself},     {"helps", &HeadStats::helps},
};

bool is_attention(const Step& step) {
  const Tensor& tensor = step.output;
  if (!step.operation->makes_weights || tensor.rank() < 2 || tensor.rows() != tensor.columns()) {
    return false;
  }
  return tensor.axes[tensor.rank() - 2].name == "query" && tensor.axes.back().name == "key";
}

// A weighted sum and the gradient of its output.
struct Contribution {
  const Tensor* context = nullptr;
  const Tensor* gradient = nullptr;
};

// Returns the output of the heads with these weights; empty if the loss does not depend on it.
std::optional<Contribution> contribution_of(const Step& weights, const Trace& trace) {
  for (const Step& step : trace.steps) {
    if (step.operation != &weighted_sum_operation || step.of.front() != weights.name) continue;
    const Step* gradient = trace.find_step(gradient_name(step.name));
    if (gradient) return Contribution{&step.output, &gradient->output};
  }
  return {};
}

double helps(const Contribution& of, std::size_t matrix) {
  const std::span<const double> context = of.context->cells(matrix);
  const std::span<const double> gradient = of.gradient->cells(matrix);
  return -std::inner_product(context.begin(), context.end(), gradient.begin(), 0.0);
}

HeadStats head_stats_of(const Step& step, std::size_t matrix) {
  const Tensor& weights = step.output;
  const std::size_t n = weights.rows();
  HeadStats stats{.step = step.name, .matrix = matrix, .head = head_of(weights, matrix)};
  const Statistic& entropy = *find_statistic("entropy");
  const std::size_t begin = n > 1 ? 1 : 0;
  const double share = 1 / static_cast<double>(n - begin);
  for (std::size_t i = begin; i < n; ++i) {
    const std::span<const double> row = weights.cells(matrix).subspan(i * n, n);
    stats.entropy += share * entropy.of(row);
    stats.largest += share * *std::ranges::max_element(row);
    stats.previous += i > 0 ? share * row[i - 1] : 0;
    stats.first += share * row[0];
    stats.itself += share * row[i];
  }
  return stats;
}

constexpr std::string_view readout = "probabilities";

Ablation without(const LoadedLesson& loaded, const Step& step, std::size_t matrix,
                 std::size_t answer) {
  Recipe recipe = recipe_after(loaded, step);
  Tensor& context = recipe.givens.back().tensor;
  std::ranges::fill(context.mutable_cells(matrix), 0.0);
  RequestedSteps wanted = {std::string(readout)};
  const auto& backward = loaded.lesson.backward;
  if (backward) wanted.push_back(backward->of);
  const Trace trace = evaluate(std::move(recipe), wanted);
  const Tensor& shares = trace.at(readout);
  const std::size_t last = shares.values.size() - shares.columns();
  return {.step = step.name,
          .head = head_of(step.output, matrix),
          .share = shares.values[last + answer],
          .loss = backward ? std::optional(trace.at(backward->of).values[0]) : std::nullopt,
          .prediction = top_tokens(shares, 1).front()};
}

// Returns the steps from the final norm to the probabilities, each using the one before.
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

}  // namespace

std::span<const HeadMeasure> head_measures() { return measures; }

std::span<const HeadMeasure> head_measures(const Trace& trace) {
  const bool has_gradients = std::ranges::any_of(trace.steps, [&](const Step& step) {
    return is_attention(step) && contribution_of(step, trace);
  });
  return head_measures().first(std::size(measures) - (has_gradients ? 0 : 1));
}

std::vector<HeadStats> head_stats(const Trace& trace) {
  std::vector<HeadStats> habits;
  const auto is_of_model = [](const Step& step) {
    return step.name.find('.') != std::string::npos;
  };
  const bool has_model = std::ranges::any_of(
      trace.steps, [&](const Step& step) { return is_attention(step) && is_of_model(step); });
  for (const Step& step : trace.steps) {
    if (!is_attention(step)) continue;
    const auto contribution = contribution_of(step, trace);
    for (std::size_t m = 0; m < step.output.matrices(); ++m) {
      habits.push_back(head_stats_of(step, m));
      habits.back().is_variant = has_model && !is_of_model(step);
      if (contribution) habits.back().helps = helps(*contribution, m);
    }
  }
  std::ranges::stable_sort(habits, {}, &HeadStats::is_variant);
  return habits;
}

std::string_view head_summary(const HeadStats& stats) {
  struct Words {
    double share;
    std::string_view summary;
  };
  const Words all[] = {{stats.previous, "mostly the token before"},
                       {stats.itself, "mostly itself"},
                       {stats.first, "mostly the first token"}};
  const Words& most = *std::ranges::max_element(all, {}, &Words::share);
  return most.share > 0.5 ? most.summary : "";
}

Recipe recipe_after(const LoadedLesson& loaded, const Step& step) {
  Recipe recipe = recipe_of(loaded);
  for (const Step& before : loaded.trace.steps) {
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
  const std::size_t answer = top_tokens(shares->output, 1).front().id;
  std::vector<Ablation> all;
  for (const Step& step : loaded.trace.steps) {
    if (step.operation != &weighted_sum_operation || step.number > shares->number) continue;
    for (std::size_t m = 0; m < step.output.matrices(); ++m) {
      all.push_back(without(loaded, step, m, answer));
    }
  }
  return all;
}

std::vector<LayerPrediction> logit_lens(const LoadedLesson& loaded, std::size_t count) {
  const std::vector<StepRecipe> chain = readout_steps(loaded.lesson.recipe);
  Recipe recipe = recipe_of(loaded);
  recipe.steps.clear();
  std::vector<LayerPrediction> all;
  RequestedSteps wanted;
  for (const Step& layer : loaded.trace.steps) {
    if (!layer.name.ends_with(".residual2")) continue;  // ends no layer
    recipe.givens.push_back({layer.name, layer.output});
    std::string before = layer.name;
    for (StepRecipe step : chain) {
      step.of[0] = before;
      before = step.name = layer.name + "." + step.name;
      recipe.steps.push_back(std::move(step));
    }
    wanted.push_back(before);
    all.push_back({.step = layer.name, .predictions = {}});
  }
  const Trace trace = evaluate(std::move(recipe), wanted);
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].predictions = top_tokens(trace.at(wanted[i]), count);
  }
  return all;
}

}  // namespace qkv::inline lesson
