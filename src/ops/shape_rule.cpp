#include "ops/shape_rule.hpp"

#include <fmt/format.h>

namespace qkv::inline ops {
namespace {

std::string axis_text(std::string_view symbol, const Axis& axis) {
  if (!is_placeholder(symbol) || axis.name.empty()) return std::string(symbol);
  return axis.name;
}

// An axis and the operand that bound its name first, so that an error can name both.
struct Bound {
  Axis axis;
  std::size_t operand = 0;
};

[[noreturn]] void refuse_sizes(const Call& call, std::string_view name, const Bound& first,
                               const Bound& other) {
  refuse(call, fmt::format("{} is {} in {} but {} in {}", name, first.axis.size,
                           operand_text(call, first.operand), other.axis.size,
                           operand_text(call, other.operand)));
}

// An axis called "1" must have size 1.
void refuse_several(const Call& call, std::string_view symbol, const Axis& axis,
                    std::size_t operand, std::string_view wanted) {
  if (symbol != "1" || axis.size == 1) return;
  refuse(call, fmt::format("{} must be {}", operand_text(call, operand), wanted));
}

void meet(std::map<std::string, Bound, std::less<>>& bound, std::string_view symbol, Axis axis,
          const Call& call, std::size_t operand) {
  if (symbol == "1") return;
  const auto found = bound.find(symbol);
  if (found == bound.end()) {
    bound.emplace(symbol, Bound{std::move(axis), operand});
    return;
  }
  Axis& first = found->second.axis;
  if (first.size != axis.size) {
    refuse_sizes(call, axis_text(symbol, first), {first, found->second.operand}, {axis, operand});
  }
  if (first.labels.empty()) first.labels = std::move(axis.labels);
  if (first.name.empty()) first.name = std::move(axis.name);
}

// True if fewer heads of the second operand may be shared among all heads of the first.
bool may_share(const Form& form, const Axis& all, const Axis& few) {
  return form.shares_heads && all.name != "batch" && few.name != "batch" && few.size > 0 &&
         few.size < all.size && all.size % few.size == 0;
}

}  // namespace

bool is_placeholder(std::string_view axis) {
  return axis == "row" || axis == "column" || axis == "inner";
}

std::pair<std::string_view, std::string_view> axis_names(std::string_view matrix) {
  const std::size_t blank = matrix.find(' ');
  return {matrix.substr(0, blank), matrix.substr(blank + 1)};
}

Bindings bind(const Call& call, const Form& form) {
  std::map<std::string, Bound, std::less<>> bound;
  for (std::size_t k = 0; k < call.inputs.size(); ++k) {
    const auto [rows, columns] = axis_names(form.operands[std::min(k, form.operands.size() - 1)]);
    const Axis row = call.inputs[k]->row_axis();
    const Axis& column = call.inputs[k]->axes.back();
    refuse_several(call, rows, row, k, "a vector or a matrix of one row");
    refuse_several(call, columns, column, k, "a matrix of one column");
    meet(bound, rows, row, call, k);
    meet(bound, columns, column, call, k);
  }
  Bindings result;
  for (auto& [symbol, meeting] : bound) {
    if (!is_placeholder(symbol) || meeting.axis.name.empty()) meeting.axis.name = symbol;
    result.emplace(symbol, std::move(meeting.axis));
  }
  return result;
}

std::vector<Axis> leading_axes(const Call& call, const Form& form) {
  std::vector<Bound> met;
  for (std::size_t k = 0; k < call.inputs.size(); ++k) {
    const Tensor& operand = *call.inputs[k];
    const std::size_t count = operand.leading_axes();
    if (count > met.size()) {
      met.insert(met.begin(), count - met.size(), Bound{{.name = "", .size = 1}, k});
    }
    for (std::size_t a = 0; a < count; ++a) {
      Bound& bound = met[met.size() - count + a];
      const Axis& own = operand.axes[a];
      if (own.size == 1 && bound.axis.size != 1) continue;
      if (k == 1 && a + 1 == count && may_share(form, bound.axis, own)) continue;
      if (bound.axis.size != 1 && bound.axis.size != own.size) {
        const std::string& name = bound.axis.name;
        refuse_sizes(call, name.empty() ? "the leading axis" : name, bound, {own, k});
      }
      if (bound.axis.size != own.size || bound.axis.name.empty()) bound = {own, k};
    }
  }
  std::vector<Axis> axes;
  for (Bound& bound : met) axes.push_back(std::move(bound.axis));
  return axes;
}

Tensor frame_of(const Call& call, const Form& form) {
  const Bindings bound = bind(call, form);
  std::vector<Axis> axes = leading_axes(call, form);
  const auto [rows, columns] = axis_names(form.output);
  for (const std::string_view axis : {rows, columns}) {
    axes.push_back(axis == "1" ? Axis{.name = "", .size = 1} : bound.find(axis)->second);
  }
  return {.axes = std::move(axes), .values = {}};
}

Tensor output_of(const Call& call, const Form& form) {
  Tensor frame = frame_of(call, form);
  element_count(frame.shape(), call.step);  // throws, naming the step, if too large
  return uninitialised(std::move(frame.axes));
}

}  // namespace qkv::inline ops
