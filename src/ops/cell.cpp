#include "ops/cell.hpp"

#include "tensor/parallel.hpp"
#include "tensor/tensor.hpp"

namespace qkv::inline ops {

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

}  // namespace qkv::inline ops
