#include "lesson/model/writing.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ops/catalogue.hpp"
#include "ops/result.hpp"
#include "text/error.hpp"
#include "trace/needed_steps.hpp"

namespace qkv {
namespace {

bool meets_the_past(const StepRecipe& step) {
  return step.operation == &score_operation || step.operation == &weighted_sum_operation;
}

// A single query sees all that came before it.
bool hides_nothing(const StepRecipe& step) {
  return step.operation == &mask_operation && step.options.word("kind", "causal") == "causal";
}

// Each matrix with its new row below the past ones.
Tensor appended(const Tensor& past, const Tensor& row) {
  std::vector<Axis> axes = past.axes;
  Axis& tokens = axes[axes.size() - 2];
  tokens = {.name = tokens.name, .size = tokens.size + 1};
  Tensor longer = unwritten(std::move(axes));
  for (std::size_t m = 0; m < longer.matrices(); ++m) {
    const auto end = std::ranges::copy(past.cells(m), longer.write_cells(m).begin()).out;
    std::ranges::copy(row.cells(m), end);
  }
  return longer;
}

}  // namespace

std::vector<std::string> cached_steps(const Recipe& recipe) {
  std::vector<std::string> names;
  for (const StepRecipe& step : recipe.steps) {
    if (meets_the_past(step)) names.push_back(step.of[1]);
  }
  return names;
}

std::size_t likeliest(const Tensor& probabilities) {
  const std::size_t width = probabilities.columns();
  const std::size_t last = probabilities.values.size() - width;
  std::size_t best = 0;
  for (std::size_t id = 1; id < width; ++id) {
    if (probabilities.values[last + id] > probabilities.values[last + best]) best = id;
  }
  return best;
}

Writing::Writing(const Recipe& recipe, const Trace& trace)
    : trace_(trace), environment_(trace.environment), position_(trace.at("token_ids").columns()) {
  const std::vector<bool> needed = Looks(recipe, {"probabilities"}).needed;
  for (std::size_t s = 0; s < needed.size(); ++s) {
    if (!needed[s]) continue;
    const StepRecipe& step = steps_.emplace_back(recipe.steps[s]);
    if (meets_the_past(step)) past_[step.of[1]] = trace.at(step.of[1]);
  }
}

const Tensor& Writing::after(double id) {
  for (const StepRecipe& step : steps_) rows_[step.name] = row_of(step, id);
  ++position_;
  return rows_.at("probabilities");
}

Tensor Writing::row_of(const StepRecipe& step, double id) {
  if (step.operation == &tokenise_operation) {
    return {.axes = {{.name = "token", .size = 1}}, .values = std::vector<double>{id}};
  }
  if (step.operation == &positions_operation) return position_row(step);
  if (hides_nothing(step)) return operand(step.of[0]);
  Options options = step.options;
  if (step.operation == &rope_operation) {
    options.set("first", options.number("first", 0) + static_cast<double>(position_));
  }
  Call call{.step = step.name,
            .inputs = {},
            .names = {},
            .options = &options,
            .environment = &environment_,
            .convention = trace_.convention};
  for (std::size_t k = 0; k < step.of.size(); ++k) {
    const bool is_past = k == 1 && meets_the_past(step);
    call.inputs.push_back(is_past ? &with_past(step.of[k]) : &operand(step.of[k]));
    call.names.push_back(step.of[k]);
  }
  return result_of(*step.operation, call);
}

Tensor Writing::position_row(const StepRecipe& step) const {
  const Tensor& table = operand(step.of[1]);
  if (position_ >= table.rows()) {
    throw InputError(fmt::format(
        "--continue: {} has rows for {} positions only; take fewer tokens, or a shorter text",
        step.of[1], table.rows()));
  }
  Tensor row = unwritten({{.name = "token", .size = 1}, table.axes.back()});
  const std::size_t width = table.columns();
  for (std::size_t j = 0; j < width; ++j) {
    row.values.write()[j] = table.values[position_ * width + j];
  }
  return row;
}

const Tensor& Writing::operand(const std::string& name) const {
  const auto row = rows_.find(name);
  return row == rows_.end() ? trace_.at(name) : row->second;
}

const Tensor& Writing::with_past(const std::string& name) {
  Tensor& past = past_.at(name);
  past = appended(past, rows_.at(name));
  return past;
}

}  // namespace qkv
