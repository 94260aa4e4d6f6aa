#include "ops/kinds/formula.hpp"

#include "ops/kinds/cellwise.hpp"
#include "ops/kinds/line.hpp"
#include "ops/kinds/move.hpp"

namespace qkv::inline ops {

Form with_columns(Form form) {
  constexpr std::string_view row = "row";
  constexpr std::string_view column = "column";
  const std::string_view text = form.formula;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    const bool is_row = rest.starts_with(row);
    const bool is_column = rest.starts_with(column);
    form.formula_by_columns += is_row ? column : is_column ? row : rest.substr(0, 1);
    at += is_row ? row.size() : is_column ? column.size() : 1;
  }
  return form;
}

Tensor frame_of_scores(const Call& call, const Form& form) {
  Tensor frame = frame_of(call, form);
  frame.dot_width = call.inputs[0]->dot_width;
  return frame;
}

Tensor by_matrix(const Tensor& tensor, const std::function<Matrix(const MatrixView&)>& formula) {
  Tensor result = uninitialised_like(tensor);
  for (std::size_t m = 0; !result.values.empty() && m < result.matrices(); ++m) {
    xt::noalias(result.mutable_matrix(m)) = formula(tensor.matrix(m));
  }
  return result;
}

std::size_t Operands::first_of_row(std::size_t k) const {
  const Tensor& operand = at_.input(k);
  const std::size_t row = operand.rows() == 1 ? 0 : at_.row;
  return (at_.matrix_index(k) * operand.rows() + row) * operand.columns();
}

std::span<const double> Operands::row(std::size_t k) const {
  return at_.input(k).values.part(first_of_row(k), at_.input(k).columns());
}

std::span<const double> Operands::row(std::size_t k, Scratch& scratch) const {
  return at_.input(k).values.read(first_of_row(k), at_.input(k).columns(), scratch);
}

Tensor by_operands(const Call& call, Tensor result,
                   const std::function<Matrix(const Operands&)>& formula) {
  CellBase at{.call = &call, .output = &result};
  for (; !result.values.empty() && at.matrix < result.matrices(); ++at.matrix) {
    xt::noalias(result.mutable_matrix(at.matrix)) = formula(Operands(at));
  }
  return result;
}

Tensor by_rows(const Call& call, Tensor result, std::size_t operations,
               const std::function<void(const Operands& of, std::span<double> cells)>& fill) {
  const std::size_t rows = result.rows();
  const std::size_t columns = result.columns();
  if (rows == 0 || columns == 0) return result;
  constexpr std::size_t numbers_at_a_time = std::size_t{1} << 14;
  const std::size_t block = std::max<std::size_t>(1, numbers_at_a_time / columns);
  const std::span<double> all = result.values.mutable_span();
  parallel_for(all.size() / columns, block, operations * columns,
               [&](std::size_t line, std::size_t end) {
                 for (; line < end; ++line) {
                   const CellBase at{
                       .call = &call, .output = &result, .matrix = line / rows, .row = line % rows};
                   fill(Operands(at), all.subspan(line * columns, columns));
                 }
               });
  return result;
}

std::string_view axes_that_repeat(const Call& call, std::size_t k) {
  const bool one_row = call.inputs[k]->rows() == 1 && call.inputs[0]->rows() != 1;
  const bool one_column = call.inputs[k]->columns() == 1 && call.inputs[0]->columns() != 1;
  if (one_row) return one_column ? "1 1" : "1 column";
  return one_column ? "row 1" : "row column";
}

Form cellwise_form(const Call& call, std::string formula) {
  Form form{{"row column"}, "row column", std::move(formula)};
  for (std::size_t k = 1; k < call.inputs.size(); ++k) {
    form.operands.push_back(axes_that_repeat(call, k));
  }
  return form;
}

Tensor IdentityBackward::compute(const Call& call, Tensor whole) {
  const Values& change = call.inputs[grad_output]->values;
  if (change.size() != whole.values.size()) {
    return cell_by_cell(call, std::move(whole), evaluated<IdentityBackward, double>);
  }
  whole.values = change;  // shared, not copied
  return whole;
}

Axis joined(const std::string& name, const std::vector<Axis>& parts) {
  std::vector<std::string> labels;
  std::size_t size = 0;
  for (const Axis& part : parts) {
    labels.insert(labels.end(), part.labels.begin(), part.labels.end());
    size += part.size;
  }
  const bool are_whole =
      std::ranges::all_of(parts, [](const Axis& part) { return part.labels.size() == part.size; });
  if (!are_whole) labels.clear();
  return {.name = name, .size = size, .labels = std::move(labels)};
}

Tensor block_of(const Tensor& whole, Tensor part, const Block& block) {
  for (std::size_t m = 0; !part.values.empty() && m < part.matrices(); ++m) {
    xt::noalias(part.mutable_matrix(m)) =
        xt::view(whole.matrix(block.matrix(whole, m)), xt::range(block.rows.from, block.rows.to),
                 xt::range(block.columns.from, block.columns.to));
  }
  return part;
}

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

bool has_zeros(const Tensor& numbers) {
  return contains(std::span<const double>(numbers.values), 0.0);
}

Matrix finite(const Matrix& numbers) { return xt::where(xt::isinf(numbers), 0.0, numbers); }

}  // namespace qkv::inline ops
