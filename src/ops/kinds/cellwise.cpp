#include "ops/kinds/cellwise.hpp"

namespace qkv::inline ops {

Form pairwise_form(const Call& call, std::string_view formula) {
  const Tensor& a = *call.inputs[0];
  const Tensor& b = *call.inputs[1];
  const bool one_row = b.rows() == 1 && a.rows() != 1;
  const bool one_column = b.columns() == 1 && a.columns() != 1;
  const std::string_view second = one_row && one_column ? "1 1"
                                  : one_row             ? "1 column"
                                  : one_column          ? "row 1"
                                                        : "row column";
  return {{"row column", second}, "row column", std::string(formula)};
}

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

Tensor IdentityBackward::compute(const Call& call, Tensor whole) {
  const Values& change = call.inputs[grad_output]->values;
  if (change.size() != whole.values.size()) {
    return cell_by_cell(call, std::move(whole), evaluated<IdentityBackward, double>);
  }
  whole.values = change;  // shared, not copied
  return whole;
}

}  // namespace qkv::inline ops
