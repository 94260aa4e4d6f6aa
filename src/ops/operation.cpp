#include "ops/operation.hpp"

#include "ops/kinds/formula.hpp"
#include "text/error.hpp"

namespace qkv::inline ops {

std::string operand_text(const Call& call, std::size_t k) {
  return fmt::format("{} ({})", call.names[k], shown_shape(*call.inputs[k], call.token_layout));
}

void refuse(const Call& call, std::string_view what) {
  throw InputError(fmt::format("{}: {}", call.step, what));
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

std::size_t CellBase::matrix_index(std::size_t k) const {
  const Tensor& operand = input(k);
  const std::size_t count = operand.matrices();
  if (count == 1) return 0;
  if (count == output->matrices()) return matrix;  // same leading axes: the broadcast adds none
  const std::vector<std::size_t> index = leading_index(*output, matrix);
  const std::size_t missing = index.size() - operand.leading_axes();
  std::size_t result = 0;
  for (std::size_t a = 0; a < operand.leading_axes(); ++a) {
    const std::size_t size = operand.axes[a].size;
    const std::size_t all = output->axes[a + missing].size;
    result = result * size + index[a + missing] * size / all;  // neighbours share fewer heads
  }
  return result;
}

template <class N>
OperandMatrix<N> Cell<N>::of(std::size_t k, std::size_t m) const {
  const Tensor& own = input(k);
  OperandMatrix<N> result{
      .values = {}, .rows = own.rows(), .columns = own.columns(), .operand = k, .matrix = m};
  if constexpr (std::is_same_v<N, Interval>) {
    result.values = bounds[k].low->cells(m);
    result.high = bounds[k].high->cells(m);
  } else if constexpr (std::is_same_v<N, Decimal>) {
    const std::size_t size = decimals[k].empty() ? 0 : result.rows * result.columns;
    result.decimals = decimals[k].subspan(m * size, size);
  } else {
    result.values = own.cells(m);
  }
  return result;
}

template <class N>
void each_cell(const Cell<N>& first, std::size_t operations,
               const std::function<void(const Cell<N>& cell, std::size_t place)>& use) {
  const std::size_t rows = first.output->rows();
  const std::size_t columns = first.output->columns();
  constexpr std::size_t rows_at_a_time = 16;
  parallel_for(first.output->matrices() * rows, rows_at_a_time, operations * columns,
               [&](std::size_t line, std::size_t end) {
                 Cell<N> cell = first;
                 for (; line < end; ++line) {
                   cell.matrix = line / rows;
                   cell.row = line % rows;
                   for (cell.column = 0; cell.column < columns; ++cell.column) {
                     use(cell, line * columns + cell.column);
                   }
                 }
               });
}

template struct Cell<double>;
template struct Cell<Interval>;
template struct Cell<Expression>;
template struct Cell<Decimal>;
template void each_cell(const Cell<double>&, std::size_t,
                        const std::function<void(const Cell<double>&, std::size_t)>&);
template void each_cell(const Cell<Interval>&, std::size_t,
                        const std::function<void(const Cell<Interval>&, std::size_t)>&);
template void each_cell(const Cell<Decimal>&, std::size_t,
                        const std::function<void(const Cell<Decimal>&, std::size_t)>&);

namespace {

#define QKV_OPERATION(name) &name##_operation,
constexpr const Operation* every_operation[] = {QKV_OPERATIONS};
#undef QKV_OPERATION

}  // namespace

std::span<const Operation* const> catalogue() { return every_operation; }

const Operation* find_operation(std::string_view name) {
  const auto* found = std::ranges::find(every_operation, name, &Operation::name);
  return found == std::end(every_operation) ? nullptr : *found;
}

}  // namespace qkv::inline ops
