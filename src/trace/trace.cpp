#include "trace/trace.hpp"

#include <fmt/format.h>

#include <set>

#include "text/error.hpp"
#include "text/suggest.hpp"

namespace qkv::inline trace {
namespace {

[[noreturn]] void refuse(std::string_view name, const NameViews& known, std::string_view what) {
  const std::string near = suggest(name, known);
  if (!near.empty()) {
    throw InputError(
        fmt::format("there is no {} named \"{}\"; did you mean \"{}\"?", what, name, near));
  }
  throw InputError(fmt::format("there is no {} named \"{}\"; this lesson has {}", what, name,
                               abbreviated_list(known)));
}

// Returns the size of that axis in the first tensor that has it.
std::optional<std::size_t> axis_size(const Trace& trace, std::string_view axis) {
  std::optional<std::size_t> size;
  const auto look = [&](const Tensor& tensor) {
    for (const Axis& own : tensor.axes) {
      if (!size && own.name == axis) size = own.size;
    }
  };
  for (const Given& given : trace.givens) look(given.tensor);
  for (const Step& step : trace.steps) look(step.output);
  return size;
}

// Returns the size that the shape rules of the steps give to an axis.
std::optional<std::size_t> bound_size(const Trace& trace, std::string_view axis) {
  for (const Step& step : trace.steps) {
    const Call call = trace.call(step);
    if (call.inputs.empty()) continue;
    const Form form = step.operation->form(call);
    for (std::size_t k = 0; k < std::min(form.operands.size(), call.inputs.size()); ++k) {
      const auto [rows, columns] = axis_names(form.operands[k]);
      if (rows == axis) return call.inputs[k]->rows();
      if (columns == axis) return call.inputs[k]->columns();
    }
  }
  return {};
}

}  // namespace

const Given* given_in(const Recipe& recipe, std::string_view name) {
  const auto found = std::ranges::find(recipe.givens, name, &Given::name);
  return found == recipe.givens.end() ? nullptr : &*found;
}

const StepRecipe* step_in(const Recipe& recipe, std::string_view name) {
  const auto found = std::ranges::find(recipe.steps, name, &StepRecipe::name);
  return found == recipe.steps.end() ? nullptr : &*found;
}

void require_operand_count(const StepRecipe& step) {
  const Operation& operation = *step.operation;
  if (operation.takes(step.of.size())) return;
  std::string wanted = fmt::format("{}", operation.min_operands);
  if (operation.max_operands != operation.min_operands) {
    wanted += fmt::format(" {} {}", operation.takes_numbers_between ? "to" : "or",
                          operation.max_operands);
  }
  throw InputError(fmt::format("{}: {} takes {} operand{}, not {}", step.name, operation.name,
                               wanted, operation.max_operands == 1 ? "" : "s", step.of.size()));
}

const Tensor* Trace::find(std::string_view name) const {
  if (const auto place = given_names.place(name)) return &givens[*place].tensor;
  const Step* step = find_step(name);
  return step ? &step->output : nullptr;
}

const Step* Trace::find_step(std::string_view name) const {
  const auto place = step_names.place(name);
  if (!place) return nullptr;
  // Erased steps before it can only have moved it forward.
  for (std::size_t s = std::min(*place + 1, steps.size()); s-- > 0;) {
    if (steps[s].name == name) return &steps[s];
  }
  return nullptr;
}

void Trace::add(Given given) {
  given_names.add(given.name);
  has_lazy = has_lazy || !given.tensor.values.are_stored();
  givens.push_back(std::move(given));
}

void Trace::add(Step step) {
  step_names.add(step.name);
  for (const std::string& name : step.of) first_consumers.emplace(name, step.name);
  has_lazy = has_lazy || !step.output.values.are_stored();
  steps.push_back(std::move(step));
}

const Tensor& Trace::at(std::string_view name) const {
  if (const Tensor* tensor = find(name)) return *tensor;
  NameViews known(givens, &Given::name);
  known.add(steps, &Step::name);
  refuse(name, known, "matrix");
}

const Step& Trace::step_at(std::string_view name) const {
  if (const Step* step = find_step(name)) return *step;
  refuse(name, {steps, &Step::name}, "step");
}

void Trace::drop_cache() const {
  if (!has_lazy) return;  // as in a lesson of ten thousand small steps
  for (const Given& given : givens) given.tensor.values.drop_cache();
  for (const Step& step : steps) step.output.values.drop_cache();
}

Call Trace::call(const Step& step) const {
  Call call{.step = step.name,
            .options = &step.options,
            .environment = &environment,
            .token_layout = token_layout};
  for (const std::string& name : step.of) {
    call.inputs.push_back(&at(name));
    call.names.push_back(name);
  }
  return call;
}

Trace only_steps(const Trace& trace, const std::vector<std::size_t>& places) {
  Trace alone;
  alone.token_layout = trace.token_layout;
  alone.environment = trace.environment;
  alone.length = trace.length;
  for (const Given& given : trace.givens) alone.add(given);
  for (std::size_t s = 0; s < trace.steps.size(); ++s) {
    const Step& step = trace.steps[s];
    if (std::ranges::find(places, s) != places.end()) {
      alone.add(step);
    } else {
      alone.add(Given{step.name, step.output});
    }
  }
  return alone;
}

std::size_t numbers_of(const Trace& trace, const std::vector<std::size_t>& places) {
  std::set<const Tensor*> tensors;
  for (const std::size_t place : places) {
    const Step& step = trace.steps[place];
    tensors.insert(&step.output);
    for (const std::string& name : step.of) tensors.insert(&trace.at(name));
  }
  if (places.empty()) {
    for (const Given& given : trace.givens) tensors.insert(&given.tensor);
    for (const Step& step : trace.steps) tensors.insert(&step.output);
  }
  std::size_t count = 0;
  for (const Tensor* tensor : tensors) count += tensor->values.size();
  return count;
}

std::optional<std::size_t> symbol(const Trace& trace, std::string_view name) {
  const auto size_of = [&](std::string_view axis) {
    const auto size = axis_size(trace, axis);
    return size ? size : bound_size(trace, axis);
  };
  if (name == "m") return size_of("key");
  if (name == "h") return size_of("head");
  if (name == "n") {
    const auto queries = size_of("query");
    return queries ? queries : size_of("token");
  }
  return name.starts_with("d_") ? size_of(name) : std::nullopt;
}

}  // namespace qkv::inline trace
