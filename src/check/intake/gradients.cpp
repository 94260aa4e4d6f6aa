#include "check/intake/gradients.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "check/intake/layout.hpp"
#include "check/intake/step_names.hpp"
#include "ops/backward_rule.hpp"
#include "ops/catalogue.hpp"
#include "text/error.hpp"
#include "trace/evaluate.hpp"

namespace qkv {
namespace {

// The step that the gradients are those of, by its name; empty where the lesson has none.
std::string loss_of(const Trace& trace) {
  for (auto step = trace.steps.rbegin(); step != trace.steps.rend(); ++step) {
    if (step->output.values.size() != 1) continue;
    const bool is_last = step == trace.steps.rbegin();
    const bool is_loss = step->name == "loss" || step->operation == &cross_entropy_operation;
    if (is_last || is_loss) return step->name;
  }
  return {};
}

// What a submission's files are named by: the lesson's own names, and their gradients'.
Trace with_gradients_names(const Trace& trace) {
  Trace named = trace;
  const auto add = [&](const std::string& name, const Tensor& tensor) {
    if (!trace.find(gradient_name(name))) named.add({gradient_name(name), as_matrix(tensor)});
  };
  for (const Given& given : trace.givens) add(given.name, given.tensor);
  for (const Step& step : trace.steps) add(step.name, step.output);
  return named;
}

// The gradient's numbers, laid out as the lesson has its tensors.
Tensor numbers_of(const Submission& submission, const Trace& named, const std::string& name) {
  Tensor numbers = named.at(name);
  for (const Turned turned : {Turned::no, Turned::yes}) {
    const std::vector<Handed> all = arrange(submission, named, turned);
    const Handed& handed = *std::ranges::find(all, name, &Handed::name);
    if (!handed.fits) continue;
    for (const Numeral& cell : handed.cells) {
      if (!std::isnan(cell.value)) continue;
      throw InputError(fmt::format("{}: a number of {} is missing, and the gradients begin there",
                                   submission.name, name));
    }
    numbers.values = Values::unwritten(handed.cells.size());
    std::ranges::transform(handed.cells, numbers.values.write().begin(), &Numeral::value);
    return numbers;
  }
  throw InputError(fmt::format("{}: the gradients begin at {}, which must be {}", submission.name,
                               name, shape_text(numbers.shape())));
}

// The gradient that was handed in of the last step that has one, and that step.
std::pair<std::string, Given> arriving_gradient(const Trace& trace, const std::string& path) {
  const Trace named = with_gradients_names(trace);
  const Submission submission = read_submission(path, named);
  for (auto step = trace.steps.rbegin(); step != trace.steps.rend(); ++step) {
    const std::string name = gradient_name(step->name);
    const bool is_there = std::ranges::any_of(
        submission.files, [&](const HandedFile& file) { return file.name == name; });
    if (is_there) return {step->name, {name, numbers_of(submission, named, name)}};
  }
  const Step& last = trace.steps.back();
  throw InputError(fmt::format(
      "{0}: --gradients: this lesson has no loss, and no gradient was handed in to begin at; hand "
      "in {1} as well, the gradient that arrives at {2}",
      path, example_file(gradient_name(last.name), last.output), last.name));
}

LoadedLesson laid_out(LoadedLesson loaded, const Backward& backward, std::vector<Given> arriving) {
  Lesson& lesson = loaded.lesson;
  Recipe recipe = lesson.recipe;
  recipe.givens = loaded.trace.givens;
  lesson.given_places.resize(lesson.given_places.size() + arriving.size());
  std::ranges::move(arriving, std::back_inserter(recipe.givens));
  for (StepRecipe& step : backward_steps(recipe, backward)) {
    recipe.steps.push_back(std::move(step));
    lesson.texts.emplace_back().is_made = true;
  }
  lesson.recipe.steps = recipe.steps;
  lesson.asked.clear();  // no other command has these steps
  loaded.trace = evaluate(std::move(recipe));
  return loaded;
}

}  // namespace

LoadedLesson with_gradients(LoadedLesson loaded, const std::vector<std::string>& paths) {
  if (std::ranges::any_of(loaded.trace.steps,
                          [](const Step& step) { return is_gradient(*step.operation); }))
    return loaded;
  if (const std::string loss = loss_of(loaded.trace); !loss.empty()) {
    return laid_out(std::move(loaded), {.of = loss}, {});
  }
  if (paths.size() > 1) {
    throw InputError(
        "--gradients: this lesson has no loss, so the gradients begin at one that was handed in; "
        "check one path at a time");
  }
  auto [step, given] = arriving_gradient(loaded.trace, paths.front());
  const Backward backward{.of = {}, .from = {{step, given.name}}};
  return laid_out(std::move(loaded), backward, {std::move(given)});
}

}  // namespace qkv
