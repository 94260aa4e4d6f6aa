#include "lesson/model/targets.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lesson/model/guess.hpp"
#include "ops/backward_rule.hpp"
#include "ops/catalogue.hpp"
#include "text/counted.hpp"
#include "text/error.hpp"
#include "trace/backward.hpp"
#include "trace/evaluate.hpp"

namespace qkv {
namespace {

constexpr ModelWords words_of_shift{
    "Leave out the last row",
    "Each row is to foretell the token that comes next. After the last token of the text nothing "
    "is known to come, so its row is left out of the loss.",
    "No number changes."};

constexpr ModelWords words_of_loss{
    "How far off the model is",
    "Softmax turns each row of logits into shares of 1. The loss of a row is minus the logarithm "
    "of the share that its target got, and the loss of the text is the mean of its rows'. From "
    "here on the gradients walk the same way back: each says how much the loss would grow with a "
    "number.",
    "If all of k tokens got the same share, the loss would be ln k."};

// The model's ids of the text, each with its word.
Tensor read_ids(const Lesson& lesson) {
  Recipe recipe;
  recipe.environment = lesson.recipe.environment;
  recipe.steps = {lesson.recipe.steps.front()};
  return evaluate(recipe).steps.front().output;
}

// A target for each row of the loss, with its word.
Tensor targets_after(const Tensor& ids) {
  const std::size_t n = ids.values.size();
  if (n < 2) {
    throw InputError(
        "--targets next: nothing follows a text of one token; write a longer text, or the target's "
        "id: --targets 4");
  }
  std::vector<std::string> words;
  for (std::size_t i = 1; i < n; ++i) words.emplace_back(ids.axes.back().label(i, 0));
  const std::span<const double> all(ids.values);
  return {.axes = {Axis{"token", n - 1, AxisLabels(std::move(words))}},
          .values = Values(all.begin() + 1, all.end())};
}

Tensor targets_as_written(const CutText& cut, const Tensor& ids) {
  const std::size_t n = ids.values.size();
  if (cut.ids.size() != n) {
    throw InputError(
        fmt::format("--targets: the text has {}, so write {}, not {}; or --targets next",
                    counted(n, "token"), counted(n, "target"), cut.ids.size()));
  }
  return {.axes = {Axis{"token", n, AxisLabels(cut.words)}}, .values = Values(cut.ids)};
}

void add_step(Lesson& lesson, StepRecipe step, const ModelWords& words) {
  lesson.recipe.steps.push_back(std::move(step));
  lesson.texts.push_back({.place = {},
                          .title = std::string(words.title),
                          .cell = {},
                          .general = true,
                          .say = {std::string(words.say), {}},
                          .notice = {std::string(words.notice), {}},
                          .otherwise = words,
                          .questions = {}});
}

// What the probabilities are made of.
std::string name_of_logits(const Lesson& lesson) { return lesson.recipe.steps.back().of.front(); }

}  // namespace

CutText cut_text(const std::vector<std::size_t>& ids, std::size_t vocabulary,
                 const AxisLabels& tokens, std::string_view option) {
  CutText cut;
  for (const std::size_t id : ids) {
    if (id >= vocabulary) {
      throw InputError(fmt::format("{}: there is no id {}; the model's ids are 0 to {}", option, id,
                                   vocabulary - 1));
    }
    cut.ids.push_back(static_cast<double>(id));
    cut.words.push_back(word_of(id < tokens.size() ? tokens[id] : std::string(), id));
  }
  return cut;
}

void add_loss(Lesson& lesson, const Targets& targets, std::size_t vocabulary,
              const AxisLabels& tokens) {
  const Tensor ids = read_ids(lesson);
  Tensor due = targets.are_next ? targets_after(ids)
                                : targets_as_written(
                                      cut_text(targets.ids, vocabulary, tokens, "--targets"), ids);
  std::string logits = name_of_logits(lesson);
  if (targets.are_next) {
    Options rows;
    rows.set("rows", OptionSpan{1, static_cast<double>(due.values.size())});
    add_step(lesson,
             {"shift_logits", &take_operation, {std::exchange(logits, "shift_logits")}, rows},
             words_of_shift);
  }
  lesson.recipe.givens.push_back({"targets", std::move(due)});
  lesson.given_places.emplace_back();
  add_step(lesson, {"loss", &cross_entropy_operation, {std::move(logits), "targets"}, {}},
           words_of_loss);
  lesson.backward = Backward{.of = "loss"};
  for (StepRecipe& step : backward_steps(lesson.recipe, *lesson.backward)) {
    lesson.recipe.steps.push_back(std::move(step));
    lesson.texts.emplace_back().is_made = true;
  }
}

void go_back_again(Recipe& recipe, const Lesson& own) {
  const auto has_step = [&](const std::string& name) {
    return std::ranges::find(recipe.steps, name, &StepRecipe::name) != recipe.steps.end();
  };
  Recipe there = recipe;
  std::erase_if(there.steps, [](const StepRecipe& step) { return is_gradient(*step.operation); });
  std::erase_if(there.givens, [&](const Given& given) {  // a gradient that was set itself
    const auto step = find_step(own.recipe, given.name);
    return step && is_gradient(*own.recipe.steps[*step].operation);
  });
  recipe.steps = there.steps;
  if (!has_step(own.backward->of)) return;
  for (StepRecipe& step : backward_steps(there, *own.backward)) {
    const auto is_set = [&](const Given& given) { return given.name == step.name; };
    if (std::ranges::none_of(recipe.givens, is_set)) recipe.steps.push_back(std::move(step));
  }
}

}  // namespace qkv
