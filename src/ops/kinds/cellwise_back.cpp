#include "ops/kinds/cellwise_back.hpp"

namespace qkv {

std::string_view axes_that_repeat(const Tensor& operand) {
  if (operand.rows() == 1) return operand.columns() == 1 ? "1 1" : "1 column";
  return operand.columns() == 1 ? "row 1" : "row column";
}

Form cellwise_form(const Call& call, std::string formula) {
  Form form{{"row column"}, "row column", std::move(formula)};
  for (std::size_t k = 1; k < call.inputs.size(); ++k) {
    form.operands.push_back(axes_that_repeat(*call.inputs[k]));
  }
  return form;
}

Tensor PassBack::compute(const Call& call, Tensor whole) {
  const Values& change = call.inputs[arriving]->values;
  if (change.size() != whole.values.size()) {
    return cell_by_cell(call, std::move(whole), cell<double>);
  }
  whole.values = change;  // shared, not copied
  return whole;
}

}  // namespace qkv
