#include "ops/operation.hpp"

#include <algorithm>

#include "ops/rows.hpp"
#include "tensor/parallel.hpp"

namespace qkv {

std::size_t CellBase::matching(std::size_t k) const {
  const Tensor& operand = input(k);
  const std::size_t count = operand.matrices();
  if (count == 1) return 0;
  if (count == output->matrices()) return matrix;  // same leading axes: the broadcast adds none
  const std::vector<std::size_t> index = leading_index(*output, matrix);
  const std::size_t missing = index.size() - operand.leading_axes();
  std::size_t result = 0;
  for (std::size_t a = 0; a < operand.leading_axes(); ++a) {
    const std::size_t size = operand.axes[a].size;
    result = result * size + (size == 1 ? 0 : index[a + missing]);
  }
  return result;
}

void row_by_row(Tensor& output, std::size_t operations,
                const std::function<void(std::size_t, std::size_t, std::span<double>)>& fill) {
  const std::size_t rows = output.rows();
  const std::size_t columns = output.columns();
  if (rows == 0 || columns == 0) return;
  constexpr std::size_t numbers_at_a_time = std::size_t{1} << 14;
  const std::size_t block = std::max<std::size_t>(1, numbers_at_a_time / columns);
  const std::span<double> all = output.values.write();
  in_blocks(all.size() / columns, block, operations * columns,
            [&](std::size_t begin, std::size_t end) {
              for (std::size_t line = begin; line < end; ++line) {
                fill(line / rows, line % rows, all.subspan(line * columns, columns));
              }
            });
}

Tensor result_of(const Operation& operation, const Call& call) {
  std::optional<InPlace> rows;
  if (operation.in_place && call.inputs[0]->values.size() > teaching_numbers) {
    rows = operation.in_place(call);
  }
  if (!rows) return operation.compute(call);
  Tensor result = std::move(rows->frame);
  const auto work = [height = result.rows(), work = std::move(rows->work)](
                        std::size_t line, std::span<double> cells) {
    work(line / height, line % height, cells);
  };
  result.values = Values::recomputed(call.inputs[0]->values, result.columns(), work);
  return result;
}

Tensor cell_by_cell(const Call& call, Tensor output, double (*cell)(const Cell<double>&)) {
  constexpr std::size_t operations = 8;  // finding a cell's operands costs more than its maths
  row_by_row(output, operations, [&](std::size_t matrix, std::size_t row, std::span<double> cells) {
    Cell<double> at;
    at.call = &call;
    at.output = &output;
    at.matrix = matrix;
    at.row = row;
    for (at.column = 0; at.column < cells.size(); ++at.column) cells[at.column] = cell(at);
  });
  return output;
}

}  // namespace qkv
