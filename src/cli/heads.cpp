#include "cli/options.hpp"
#include "terminal/model_views.hpp"

namespace qkv::inline cli {
namespace {

struct HeadsOptions {
  LessonSelection lesson;
  int digits = 4;
  std::string sort = std::string(head_measures().front().name);
  bool json = false;
  bool ablate = false;
};

std::vector<std::string> sort_names() {
  std::vector<std::string> names = {"layer"};  // their order as it is
  for (const HeadMeasure& measure : head_measures()) names.emplace_back(measure.name);
  return names;
}

// Sorts by a measure: entropy ascending, any other descending. A lesson's variants stay behind the
// heads of its model.
void sort_by(std::vector<HeadStats>& habits, std::string_view name) {
  const HeadMeasure* measure = find_by(head_measures(), name, &HeadMeasure::name);
  if (!measure) return;
  if (measure->value == &HeadStats::entropy) {
    std::ranges::stable_sort(habits, {}, measure->value);
  } else {
    std::ranges::stable_sort(habits, std::greater<>(), measure->value);
  }
  std::ranges::stable_sort(habits, {}, &HeadStats::is_variant);
}

int run(const HeadsOptions& options, const CommonOptions& common) {
  RequestedSteps wanted;
  // Of a model with gradients only what describes heads: the weights' gradients take gigabytes.
  if (options.lesson.settings.targets && !options.ablate)
    wanted = {"*.attention_weights", "*.context", "probabilities", "loss"};
  const LoadedLesson loaded = load(options.lesson, wanted);
  const HeadsStyle look{.width = output_terminal(common.colour).width, .digits = options.digits};
  if (options.ablate) {
    const auto& backward = loaded.lesson.backward;
    std::optional<double> loss;
    if (backward) loss = loaded.trace.at(backward->of).values[0];
    const std::vector<Ablation> all = ablations(loaded);
    const Prediction answer = top_tokens(loaded.trace.at("probabilities"), 1).front();
    print(options.json ? ablations_json(loaded.lesson, answer, all, loss)
                       : ablations_text(loaded.lesson, answer, all, loss, look));
    return 0;
  }
  std::vector<HeadStats> habits = head_stats(loaded.trace);
  if (habits.empty()) {
    throw InputError(
        "nothing here has attention weights; qkv heads is for lessons and models with attention");
  }
  const bool by_helps = options.sort == head_measures().back().name;
  if (by_helps && head_measures(loaded.trace).size() < head_measures().size()) {
    throw InputError("--sort helps needs a loss; with a model, add --targets next");
  }
  sort_by(habits, options.sort);
  print(options.json ? heads_json(loaded.lesson, loaded.trace, habits)
                     : heads_text(loaded.lesson, loaded.trace, habits, look));
  return 0;
}

void declare(CLI::App& app, HeadsOptions& options) {
  add_lesson_options(app, options.lesson);
  add_digits_option(app, options.digits);
  add_value(app, "--sort", options.sort, "NAME",
            fmt::format("What to sort the heads by: {}", fmt::join(sort_names(), ", ")))
      ->check(one_of(sort_names()));
  app.add_flag(
      "--ablate", options.ablate,
      "Instead, switch each head off in turn (ablate it) and show what the likeliest answer loses");
  app.add_flag("--json", options.json, "As JSON, for programs");
}

}  // namespace

constinit const Command heads_command{
    .name = "heads",
    .summary = "which head does what: how widely each looks, and at which tokens",
    .examples =
        "  qkv heads --model model.safetensors --text \"…\"\n"
        "  qkv heads --model model.safetensors --text \"…\" --sort previous\n"
        "  qkv heads --model model.safetensors --text \"…\" --targets next --sort helps\n"
        "  qkv heads trained-adjectives --ablate\n"
        "  qkv heads the-fat-cat --json\n",
    .setup = set_up_command<HeadsOptions, declare, run>,
};

}  // namespace qkv::inline cli
