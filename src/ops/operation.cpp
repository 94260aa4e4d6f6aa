#include "ops/operation.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ops/kinds/formula.hpp"
#include "tensor/parallel.hpp"
#include "text/error.hpp"

namespace qkv::inline ops {

std::string operand_text(const Call& call, std::size_t k) {
  return fmt::format("{} ({})", call.names[k], shown_shape(*call.inputs[k], call.token_layout));
}

void refuse(const Call& call, std::string_view what) {
  throw InputError(fmt::format("{}: {}", call.step, what));
}

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

bool Operation::takes(std::size_t operand_count) const {
  if (operand_count == min_operands || operand_count == max_operands) return true;
  return takes_numbers_between && operand_count > min_operands && operand_count < max_operands;
}

Tensor Operation::compute(const Call& call) const {
  if (formula) return formula(call);
  if (const auto kernel = in_place ? in_place(call) : std::nullopt) {
    return by_rows(call, uninitialised_like(kernel->frame), 2,
                   [&](const Operands& of, std::span<double> cells) {
                     std::ranges::copy(of.row(0), cells.begin());
                     kernel->work({of.at().matrix, of.at().row, 0, cells});
                   });
  }
  return cell_by_cell(call, output_of(call, form(call)), cell.number);
}

std::vector<std::string> Operation::operands_for_layout(std::vector<std::string> of,
                                                        TokenLayout token_layout) const {
  if (reverses_operands && token_layout == TokenLayout::columns) std::ranges::reverse(of);
  return of;
}

Options Operation::options_for_layout(Options options_of_step, TokenLayout token_layout) const {
  if (token_layout == TokenLayout::rows) return options_of_step;
  const Options written = options_of_step;
  for (const OptionRule& rule : options) {
    if (rule.swapped_name.empty()) continue;
    options_of_step.rename(written, rule.name, rule.swapped_name);
  }
  for (const OptionRule& rule : options) {
    const OptionValue* value = options_of_step.find(rule.name);
    if (!value || !rule.swaps_with_layout) continue;
    const bool is_rows = std::get<std::string>(*value) == "rows";
    options_of_step.set(std::string(rule.name), std::string(is_rows ? "columns" : "rows"));
  }
  return options_of_step;
}

Tensor cell_by_cell(const Call& call, Tensor output, double (*cell)(const Cell<double>&)) {
  constexpr std::size_t operations = 8;  // finding a cell's operands costs more than its maths
  const std::span<double> cells = output.values.mutable_span();
  each_cell<double>({{.call = &call, .output = &output}}, operations,
                    [&](const Cell<double>& at, std::size_t place) { cells[place] = cell(at); });
  return output;
}

Tensor result_of(const Operation& operation, const Call& call) {
  std::optional<InPlaceKernel> rows;
  if (operation.in_place && call.inputs[0]->values.size() > small_tensor_limit) {
    rows = operation.in_place(call);
  }
  if (!rows) return operation.compute(call);
  Tensor result = std::move(rows->frame);
  const auto work = [height = result.rows(), work = std::move(rows->work)](
                        std::size_t line, std::span<double> cells) {
    work({line / height, line % height, 0, cells});
  };
  result.values = Values::lazy(call.inputs[0]->values, result.columns(), work);
  return result;
}

}  // namespace qkv::inline ops
