#include "lesson/model/predictions.hpp"

#include <numeric>

#include "lesson/prose.hpp"

namespace qkv::inline lesson {
namespace {

// The token of an id; `<id>` if its label is blank.
std::string word_of(std::string_view label, std::size_t id) {
  return label.empty() ? fmt::format("<{}>", id) : std::string(label);
}

bool meets_the_past(const StepRecipe& step) {
  return step.operation == &score_operation || step.operation == &weighted_sum_operation;
}

// Appends the new row to each matrix.
Tensor appended(const Tensor& past, const Tensor& row) {
  AxisRoles axes(past);
  axes.rows = {.name = axes.rows.name, .size = axes.rows.size + 1};
  Tensor longer = uninitialised(axes.all());
  for (std::size_t m = 0; m < longer.matrices(); ++m) {
    const auto end = std::ranges::copy(past.cells(m), longer.mutable_cells(m).begin()).out;
    std::ranges::copy(row.cells(m), end);
  }
  return longer;
}

/// Incremental decoder: it caches keys and values, so that one more token costs one row. Example:
/// `IncrementalDecoder decoder(recipe, trace); decoder.after(7)` returns the last row of
/// probabilities of the longer text.
class IncrementalDecoder {
 public:
  /// `trace` has the model's givens and at least the steps of `steps_for_decoding`. It must outlive
  /// this object.
  IncrementalDecoder(const Recipe& recipe, const Trace& trace)
      : trace_(trace), environment_(trace.environment), position_(trace.at("token_ids").columns()) {
    const std::vector<bool> needed = Liveness(recipe, {"probabilities"}).needed;
    for (std::size_t s = 0; s < needed.size(); ++s) {
      if (!needed[s]) continue;
      const StepRecipe& step = steps_.emplace_back(recipe.steps[s]);
      if (meets_the_past(step)) past_[step.of[1]] = trace.at(step.of[1]);
    }
  }

  /// Appends the token to the text and returns the next row of probabilities. Throws InputError if
  /// the text exceeds the model's positions.
  const Tensor& after(double id) {
    for (const StepRecipe& step : steps_) rows_[step.name] = row_of(step, id);
    ++position_;
    return rows_.at("probabilities");
  }

 private:
  Tensor row_of(const StepRecipe& step, double id) {
    if (step.operation == &tokenise_operation) {
      return {.axes = {{.name = "token", .size = 1}}, .values = std::vector<double>{id}};
    }
    if (step.operation == &positions_operation) return position_row(step);
    // A single query sees all earlier tokens, so a causal mask hides none.
    if (step.operation == &mask_operation && step.options.word("kind", "causal") == "causal") {
      return operand(step.of[0]);
    }
    Options options = step.options;
    if (step.operation == &rope_operation) {
      options.set("first", options.number("first", 0) + static_cast<double>(position_));
    }
    Call call{.step = step.name,
              .options = &options,
              .environment = &environment_,
              .token_layout = trace_.token_layout};
    for (std::size_t k = 0; k < step.of.size(); ++k) {
      const bool is_past = k == 1 && meets_the_past(step);
      call.inputs.push_back(is_past ? &with_past(step.of[k]) : &operand(step.of[k]));
      call.names.push_back(step.of[k]);
    }
    return result_of(*step.operation, call);
  }

  Tensor position_row(const StepRecipe& step) const {
    const Tensor& table = operand(step.of[1]);
    if (position_ >= table.rows()) {
      throw InputError(
          "--continue: {} has rows for {} positions only; take fewer tokens, or a shorter text",
          step.of[1], table.rows());
    }
    const auto row = table.values.part(position_ * table.columns(), table.columns());
    return {.axes = {{.name = "token", .size = 1}, table.axes.back()},
            .values = Values(row.begin(), row.end())};
  }

  const Tensor& operand(const std::string& name) const {
    const auto row = rows_.find(name);
    return row == rows_.end() ? trace_.at(name) : row->second;
  }

  const Tensor& with_past(const std::string& name) {
    Tensor& past = past_.at(name);
    past = appended(past, rows_.at(name));
    return past;
  }

  std::vector<StepRecipe> steps_;  // up to the probabilities
  const Trace& trace_;
  Environment environment_;
  std::size_t position_;                             // of the next token, from 0
  std::map<std::string, Tensor, std::less<>> rows_;  // each step's row for the current token
  std::map<std::string, Tensor, std::less<>> past_;  // keys and values, one row per token
};

// Generates the most likely tokens one by one. The text is evaluated once, then each token alone.
std::vector<std::size_t> decode_greedily(const Recipe& recipe, const Trace& trace,
                                         std::size_t count) {
  auto ids = mapped(trace.at("token_ids").values, [](double id) { return std::size_t(id); });
  IncrementalDecoder writing(recipe, trace);
  const Tensor* probabilities = &trace.at("probabilities");
  while (true) {
    ids.push_back(top_tokens(*probabilities, 1).front().id);
    if (--count == 0) return ids;
    probabilities = &writing.after(static_cast<double>(ids.back()));
  }
}

// True if keys can't be cached: each new token rotates all keys anew, or a step is now a given with
// a row for each token of this text.
bool needs_full_pass(const LoadedLesson& loaded) {
  const std::vector<StepRecipe>& steps = loaded.lesson.recipe.steps;
  return (loaded.own && loaded.own->lesson.recipe.steps.size() != steps.size()) ||
         std::ranges::any_of(steps, [](const StepRecipe& step) {
           return step.options.word("scaling", "none") == "dynamic";
         });
}

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

std::vector<Prediction> top_tokens(const Tensor& probabilities, std::size_t count) {
  const std::size_t width = std::min(probabilities.columns(), probabilities.values.size());
  const std::size_t last = probabilities.values.size() - width;
  auto ids = mapped_places(width, std::identity());
  const auto end = ids.begin() + static_cast<std::ptrdiff_t>(std::min(count, width));
  const auto rank = [&](std::size_t id) {
    const double share = probabilities.values[last + id];
    return std::pair(std::isnan(share) ? infinity : -share, id);
  };
  std::ranges::partial_sort(ids, end, {}, rank);
  return mapped(std::span(ids.begin(), end), [&](std::size_t id) {
    return Prediction{.word = word_of(probabilities.axes.back().label(id, 0), id),
                      .id = id,
                      .share = probabilities.values[last + id]};
  });
}

ModelInput greedy_decoding(const ModelInput& input, std::size_t new_tokens, const ReadInput& read) {
  ModelInput whole = input;
  for (std::size_t left = new_tokens; left > 0;) {
    const LoadedLesson loaded = read(whole);
    if (!loaded.trace.find("token_ids") || !loaded.trace.find("probabilities")) {
      throw InputError(
          "--continue: nothing here goes from token_ids to probabilities; it is for models, and "
          "for lessons that have one");
    }
    const std::size_t at_once = needs_full_pass(loaded) ? 1 : left;
    whole = {.text = {}, .ids = decode_greedily(loaded.lesson.recipe, loaded.trace, at_once)};
    left -= at_once;
  }
  return whole;
}

RequestedSteps steps_for_decoding(const Recipe& recipe) {
  // keys and values: the rows of past tokens
  const auto past = [](const StepRecipe& step) { return step.of[1]; };
  RequestedSteps wanted = filtered(recipe.steps, meets_the_past, past);
  for (const char* name : {"token_ids", "probabilities"}) wanted.emplace_back(name);
  return wanted;
}

TokenisedText tokenised_ids(const std::vector<std::size_t>& ids, const AxisLabels& tokens) {
  TokenisedText cut;
  for (const std::size_t id : ids) {
    cut.ids.push_back(static_cast<double>(id));
    cut.words.push_back(word_of(id < tokens.size() ? tokens[id] : std::string(), id));
  }
  return cut;
}

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
