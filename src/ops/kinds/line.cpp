#include "ops/kinds/line.hpp"

namespace qkv::inline ops {

Form along_lines(const Call& call, Form by_rows) {
  Form form = with_columns(std::move(by_rows));
  if (is_columnwise(call)) std::swap(form.formula, form.formula_by_columns);
  return form;
}

Form form_of_lines(const Call& call, std::string_view before, std::string_view after) {
  return along_lines(call,
                     {{"row column"}, "row column", fmt::format("{}each row{}", before, after)});
}

bool is_columnwise(const Call& call) { return call.options->word("axis", "rows") == "columns"; }

double share(double x, double total) {
  if (std::isinf(total)) return std::nan("");
  return total == 0 && x == 0 ? 0 : x / total;
}

bool is_alone(const Cell<Decimal>& cell, double nothing) {
  const Tensor& numbers = cell.input(0);
  const std::size_t place = cell.row * numbers.columns() + cell.column;
  if (numbers.cells(cell.matrix_index(0))[place] == nothing) return false;
  const Line<Decimal> line = line_of(cell);
  const std::size_t own = index_in_line(cell);
  for (std::size_t j = 0; j < line.size(); ++j) {
    if (j != own && line(j).value() != nothing) return false;  // unknown: nan
  }
  return true;
}

Matrix shares(const Matrix& numbers, Along along) {
  return xt::vectorize(share)(numbers, sums(numbers, along));
}

Matrix finite(const Matrix& numbers) { return xt::where(xt::isinf(numbers), 0.0, numbers); }

Range range_by_lines(const Call& call, const Bounds& operand, const Tensor& result,
                     MatrixRange (*formula)(const MatrixRange&, Along along)) {
  Range range{uninitialised(result.axes), uninitialised(result.axes)};
  for (std::size_t m = 0; !result.values.empty() && m < result.matrices(); ++m) {
    const MatrixRange found =
        formula({operand.low->matrix(m), operand.high->matrix(m)}, along_of(call));
    xt::noalias(range.low.mutable_matrix(m)) = found.low;
    xt::noalias(range.high.mutable_matrix(m)) = found.high;
  }
  return range;
}

Matrix leave_one_out_sums(const Matrix& matrix, Along along) {
  if (along == Along::columns) {
    return xt::transpose(leave_one_out_sums(xt::transpose(matrix), Along::rows));
  }
  Matrix others = xt::zeros_like(matrix);
  for (std::size_t i = 0; i < matrix.shape(0); ++i) {
    const std::span line(&matrix(i, 0), matrix.shape(1));
    double* const sum = &others(i, 0);
    double before = 0;
    double after = 0;
    for (std::size_t j = 0, last = line.size() - 1; j <= last; ++j) {
      sum[j] += std::exchange(before, before + line[j]);
      sum[last - j] += std::exchange(after, after + line[last - j]);
    }
  }
  return others;
}

}  // namespace qkv::inline ops
