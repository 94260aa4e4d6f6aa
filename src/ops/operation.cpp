#include "ops/operation.hpp"

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

Tensor cell_by_cell(const Call& call, Tensor output, double (*cell)(const Cell<double>&)) {
  const std::size_t rows = output.rows();
  const std::size_t columns = output.columns();
  Cell<double> at;
  at.call = &call;
  at.output = &output;
  for (at.matrix = 0; at.matrix < output.matrices(); ++at.matrix) {
    const std::span<double> values = output.matrix(at.matrix);
    for (at.row = 0; at.row < rows; ++at.row) {
      for (at.column = 0; at.column < columns; ++at.column) {
        values[at.row * columns + at.column] = cell(at);
      }
    }
  }
  return output;
}

}  // namespace qkv
