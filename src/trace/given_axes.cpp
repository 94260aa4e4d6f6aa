#include "trace/given_axes.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "trace/words.hpp"

namespace qkv {
namespace {

void name_axis(Axis& axis, std::string_view name) {
  if (axis.name.empty() && name != "1" && !is_placeholder(name)) axis.name = name;
}

void name_matrix(Tensor& tensor, std::string_view axes) {
  if (axes.empty()) return;
  const auto [rows, columns] = axis_names(axes);
  name_axis(tensor.axes.back(), columns);
  if (tensor.rank() > 1) name_axis(tensor.axes[tensor.rank() - 2], rows);
}

// A weight that is stored out × in has the usual axes of its name the other way round.
void turn_usual(Given& given, std::string_view axes) {
  Tensor& tensor = given.tensor;
  if (axes.empty() || tensor.rank() < 2) return;
  const auto [rows, columns] = axis_names(axes);
  if (rows != "column" || columns != "inner") return;
  const auto [usual_rows, usual_columns] = axis_names(usual_axes(given.name));
  Axis& row = tensor.axes[tensor.rank() - 2];
  Axis& column = tensor.axes.back();
  if (row.name == usual_rows && column.name == usual_columns) std::swap(row.name, column.name);
}

void name_leading(Tensor& tensor, std::string_view innermost) {
  const std::size_t leading = tensor.leading_axes();
  if (leading > 0) name_axis(tensor.axes[leading - 1], innermost);
  if (leading > 1) name_axis(tensor.axes[leading - 2], "batch");
}

bool counts_tokens(const Axis& axis) {
  return axis.name.empty() || axis.name == "token" || axis.name == "query" || axis.name == "key";
}

// `tokens` label whatever has a row for each token; ids, being a vector, count along it.
void label_tokens(Tensor& tensor, const AxisLabels& tokens) {
  const bool is_ids = tensor.rank() == 1 && tensor.axes[0].name == "token";
  if (tokens.empty() || (tensor.rank() == 1 && !is_ids)) return;
  Axis& axis = is_ids ? tensor.axes[0] : tensor.axes[tensor.rank() - 2];
  if (axis.labels.empty() && axis.size == tokens.size() && counts_tokens(axis))
    axis.labels = tokens;
}

// Whether the rows of operand `k` may stand for tokens. Those of what is used as a weight do not,
// though there be as many: they meet features. They do where the columns that they meet are tokens.
bool may_have_tokens(const Call& call, const Form& form, std::size_t k) {
  if (is_name_of_weight(call.names[k])) return false;
  const auto rows = axis_names(form.operands[std::min(k, form.operands.size() - 1)]).first;
  const bool is_vector = call.inputs[k]->rank() < 2;
  if (rows != "inner") return is_vector || (rows != "1" && rows != "column");
  const Axis& met = call.inputs[0]->axes.back();
  return !met.labels.empty() || met.name == "key" || met.name == "query";
}

}  // namespace

void name_as_usual(Trace& trace) {
  for (Given& given : trace.givens) name_matrix(given.tensor, usual_axes(given.name));
}

void learn_axes(Trace& trace, const Step& step, const AxisLabels& tokens) {
  const Call call = trace.call(step);
  const Form form = step.operation->form(call);
  const bool plain_weights =
      call.inputs.size() > 1 && std::all_of(call.inputs.begin() + 1, call.inputs.end(),
                                            [](const Tensor* t) { return t->rank() < 3; });
  const auto counts_sentences = [&](std::string_view name) {
    return form.makes_heads || (plain_weights && !form.shares_heads && !is_name_of_heads(name));
  };
  std::set<std::size_t> met;
  for (std::size_t k = 0; k < step.of.size(); ++k) {
    const auto place = trace.given_names.place(step.of[k]);
    if (!place || !met.insert(*place).second) continue;  // where it stands first tells
    Given& given = trace.givens[*place];
    if (!form.operands.empty()) {
      const std::string_view axes = form.operands[std::min(k, form.operands.size() - 1)];
      turn_usual(given, axes);
      name_matrix(given.tensor, axes);
    }
    name_leading(given.tensor, k == 0 && counts_sentences(given.name) ? "batch" : "head");
    if (form.operands.empty() || may_have_tokens(call, form, k)) label_tokens(given.tensor, tokens);
  }
}

void name_unused(Trace& trace, const AxisLabels& tokens) {
  for (Given& given : trace.givens) {
    name_leading(given.tensor, "head");
    if (trace.first_uses.contains(given.name) || is_name_of_weight(given.name)) continue;
    label_tokens(given.tensor, tokens);
  }
}

}  // namespace qkv
