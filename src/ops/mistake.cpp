
#include "ops/kinds/formula.hpp"
#include "text/strings.hpp"

namespace qkv::inline ops {
namespace {

// Makes the numbers of each kind of change.
struct Maker {
  const StepView& step;
  const Call call = call_of(step);
  const Operation& operation = *step.operation;

  // One matrix for all heads is repeated where the step has a result for each.
  Versions operator()(const Skip& skip) const {
    if (skip.when && !skip.when(call)) return {};
    const Tensor& x = step.operand();
    const Tensor& result = *step.tensor;
    const bool is_alike = x.rows() == result.rows() && x.columns() == result.columns();
    if (!is_alike || x.matrices() >= result.matrices()) return {x};
    return {by_operands(call, result, [](const Operands& of) -> Matrix { return of(0); })};
  }

  Versions operator()(const SkipOperand& skip) const {
    if (call.inputs.size() <= std::max(skip.k, operation.min_operands)) return {};
    const auto at = static_cast<std::ptrdiff_t>(skip.k);
    Call fewer = call;
    fewer.inputs.erase(fewer.inputs.begin() + at);
    fewer.names.erase(fewer.names.begin() + at);
    return {operation.compute(fewer)};
  }

  Versions operator()(const SkipUpstream& skip) const {
    return without_upstream(step, *skip.operation);
  }

  Versions operator()(const With& with) const {
    Versions versions;
    const auto add = [&](OptionValue value, bool is_own) {
      if (!is_own) versions.push_back(with_option(step, with.option, std::move(value)));
    };
    const OptionRule& rule = *std::ranges::find(operation.options, with.option, &OptionRule::name);
    if (rule.flag) add(!call.options->flag(with.option, false), false);
    for (const std::string_view word : rule.list) {
      add(std::string(word), word == call.options->word(with.option, rule.list.front()));
    }
    const std::span numbers(with.numbers.begin(), with.count);
    for (const double number : numbers) {
      add(number, number == call.options->number(with.option, numbers.front()));
    }
    return versions;
  }

  Versions operator()(const Operand& other) const {
    Versions versions;
    for (const Tensor& operand : other.role(step)) {
      try {
        versions.push_back(with_operand(step, other.k, operand));
      } catch (const InputError&) {  // does not fit in its place
      }
    }
    return versions;
  }

  Versions operator()(const Instead& other) const {
    const bool is_own = other.operation == &operation;
    Versions versions;
    Options options;
    Call changed = call;
    changed.options = &options;
    const auto add = [&] { versions.push_back(other.operation->compute(changed)); };
    for (const OptionRule& rule : other.operation->options) {
      for (const std::string_view word : rule.list) {
        if (is_own && call.options->word(rule.name, rule.list.front()) == word) continue;
        options.set(std::string(rule.name), std::string(word));
        add();
      }
    }
    if (versions.empty() && !is_own) add();
    return versions;
  }

  Versions operator()(const Exchange& exchange) const {
    Versions versions;
    for (std::size_t k = 0; k < step.inputs.size(); ++k) {
      const StepView& before = *step.inputs[k];
      if (!before.operation || !std::ranges::count(exchange.before, before.operation)) continue;
      versions.push_back(with_operand(before, 0, with_operand(step, k, before.operand())));
    }
    return versions;
  }

  Versions operator()(double (*cell)(const Cell<double>&)) const {
    return {cell_by_cell(call, frame(), cell)};
  }

  Versions operator()(Matrix (*formula)(const Operands&)) const {
    return {by_operands(call, frame(), formula)};
  }

  Versions operator()(Versions (*own)(const StepView&)) const { return own(step); }

 private:
  Tensor frame() const {
    return is_gradient(operation) ? *step.tensor : output_of(call, operation.form(call));
  }
};

}  // namespace

Call call_of(const StepView& step) {
  Call call{.step = step.name, .options = step.options, .environment = step.environment};
  for (const StepView* input : step.inputs) {
    call.inputs.push_back(input->tensor);
    call.names.push_back(input->name);
  }
  return call;
}

const StepView* upstream(const StepView* from, const Operation& operation) {
  while (from && from->operation != &operation) {
    from = from->inputs.empty() ? nullptr : from->inputs.front();
  }
  return from;
}

Tensor with_operand(const StepView& step, std::size_t k, const Tensor& other) {
  Call call = call_of(step);
  call.inputs[k] = &other;
  return step.operation->compute(call);
}

Tensor with_option(const StepView& step, std::string_view name, OptionValue value) {
  Options options = *step.options;
  options.set(std::string(name), std::move(value));
  Call call = call_of(step);
  call.options = &options;
  return step.operation->compute(call);
}

Versions without_upstream(const StepView& step, const Operation& skipped) {
  std::vector<const StepView*> links = {&step};
  while (links.back()->operation != &skipped) {
    const StepView& link = *links.back();
    if (link.inputs.empty() || link.operation == &score_operation) return {};
    links.push_back(link.inputs[0]);
  }
  Tensor result = links.back()->operand();
  links.pop_back();
  for (; !links.empty(); links.pop_back()) result = with_operand(*links.back(), 0, result);
  return {std::move(result)};
}

Versions versions_of(const Change& change, const StepView& step) {
  try {
    return std::visit(Maker{step}, change);
  } catch (const InputError&) {  // impossible with these shapes
    return {};
  }
}

}  // namespace qkv::inline ops
