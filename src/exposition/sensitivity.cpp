#include "exposition/arithmetic.hpp"

#include "lesson/model/predictions.hpp"
#include "text/number.hpp"
#include "text/unicode.hpp"

namespace qkv::inline exposition {
namespace {

constexpr std::size_t max_listed_cells = 6;
// Truncation and rounding errors of a central difference of this width are about 1e-8.
constexpr double relative_step = 0x1p-13;

// The name of what the step is the gradient of; empty if none, or if of one use among several.
std::string differentiated_name(const Trace& trace, const Step& step) {
  const std::string prefix = gradient_name("");
  if (!is_gradient(*step.operation) || !step.name.starts_with(prefix)) return {};
  const std::string name = step.name.substr(prefix.size());
  const Tensor* tensor = trace.find(name);
  return tensor && tensor->values.size() == step.output.values.size() ? name : "";
}

// Steps after `name` that have a gradient, and how many of them were not kept.
struct StepsBetween {
  RequestedSteps steps;
  std::size_t left_out = 0;
};

StepsBetween between(const LoadedLesson& loaded, const std::string& name) {
  const Step* start = loaded.trace.find_step(name);
  const std::vector<StepRecipe>& steps = loaded.lesson.recipe.steps;
  const auto is_there = [&](const std::string& wanted) {
    return step_in(loaded.lesson.recipe, wanted) || loaded.trace.find(wanted);
  };
  StepsBetween found;
  for (std::size_t s = start ? start->number : 0; s < steps.size(); ++s) {
    const std::string own = gradient_name(steps[s].name);
    if (!is_there(own)) continue;
    const bool is_kept = loaded.trace.find(steps[s].name) && loaded.trace.find(own);
    if (is_kept) found.steps.push_back(steps[s].name);
    if (!is_kept) ++found.left_out;
  }
  return found;
}

// The recomputed trace after adding to the number at `index` of a given or step.
std::optional<Trace> perturbed_trace(const LoadedLesson& loaded, const std::string& name,
                                     std::size_t index, double by, const RequestedSteps& wanted) {
  const Step* step = loaded.trace.find_step(name);
  Recipe recipe = step ? recipe_after(loaded, *step) : recipe_of(loaded);
  const auto given = std::ranges::find(recipe.givens, name, &Given::name);
  const std::size_t size = given->tensor.rows() * given->tensor.columns();
  given->tensor.mutable_cells(index / size)[index % size] += by;
  Evaluation again = evaluate_all(std::move(recipe), wanted);
  if (!again.faults.empty()) return {};
  return std::move(again.trace);
}

StepSensitivity step_sensitivity(const std::string& name, const Trace& trace, const Trace& above,
                                 const Trace& below, double width) {
  const Tensor& here = trace.at(name);
  const Tensor& gradient = trace.at(gradient_name(name));
  StepSensitivity sensitivity{name, {}};
  for (std::size_t i = 0; i < here.values.size(); ++i) {
    const double more = above.at(name).values[i];
    const double less = below.at(name).values[i];
    const bool moves = more != here.values[i] && less != here.values[i];
    if (!moves || gradient.values[i] == 0 || !std::isfinite(more - less)) continue;
    // Rounds off the error of integers and short fractions.
    sensitivity.cells.push_back({i, std::round((more - less) / width * 0x1p30) * 0x1p-30});
  }
  return sensitivity;
}

}  // namespace

std::optional<Sensitivity> sensitivity_of(const LoadedLesson& loaded,
                                          const CellReference& gradient) {
  const Trace& trace = loaded.trace;
  const Step* step = trace.find_step(gradient.name);
  const std::string name = step ? differentiated_name(trace, *step) : "";
  if (!step || name.empty()) return {};
  const std::size_t index = step->output.index(gradient.matrix, gradient.row, gradient.column);
  const StepsBetween intermediates = between(loaded, name);
  if (intermediates.steps.empty() && intermediates.left_out == 0) return {};
  const CellReference cell = cell_at(name, trace.at(name), index);
  if (intermediates.steps.empty()) return Sensitivity{cell, {}, intermediates.left_out};
  const double there = trace.at(name).values[index];
  const double by = relative_step * std::max(1.0, std::abs(there) * relative_step);
  const auto above = perturbed_trace(loaded, name, index, by, intermediates.steps);
  const auto below = perturbed_trace(loaded, name, index, -by, intermediates.steps);
  if (!above || !below) return {};
  Sensitivity sensitivity{cell, {}, intermediates.left_out};
  for (const std::string& between : intermediates.steps) {
    StepSensitivity cells =
        step_sensitivity(between, trace, *above, *below, (there + by) - (there - by));
    if (!cells.cells.empty()) sensitivity.steps.push_back(std::move(cells));
  }
  return sensitivity;
}

std::string sensitivity_text(const StepSensitivity& step, const Trace& trace, int digits) {
  const Tensor& tensor = trace.at(step.name);
  std::string text = fmt::format("{} of {}: ", step.cells.size(), tensor.values.size());
  for (std::size_t k = 0; k < std::min(step.cells.size(), max_listed_cells); ++k) {
    const CellSensitivity& cell = step.cells[k];
    const CellReference place = cell_at("", tensor, cell.index);
    text += fmt::format(
        "{}{}{}{}", k == 0 ? "" : ", ",
        replace_all(reference_text(place, tensor, trace.token_layout), " ", no_break_space),
        no_break_space, brief(cell.derivative, digits));
  }
  return text + (step.cells.size() > max_listed_cells ? ", …" : "");
}

}  // namespace qkv::inline exposition
