#include "ops/shape_rule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "text/error.hpp"

namespace qkv {
namespace {

// The last two axes of an operand, a vector being a matrix of one row.
std::array<Axis, 2> matrix_axes(const Tensor& tensor) {
  if (tensor.rank() < 2) return {Axis{.name = "", .size = 1}, tensor.axes.back()};
  return {tensor.axes[tensor.rank() - 2], tensor.axes.back()};
}

std::string operand_text(const Call& call, std::size_t k) {
  return fmt::format("{} ({})", call.names[k], shape_text(call.inputs[k]->shape()));
}

std::string axis_text(std::string_view symbol, const Axis& axis) {
  if (!is_placeholder(symbol) || axis.name.empty()) return std::string(symbol);
  return axis.name;
}

// Which operand brought a name first, so that an error can point at both.
struct Bound {
  Axis axis;
  std::size_t operand = 0;
};

void meet(std::map<std::string, Bound, std::less<>>& bound, std::string_view symbol, Axis axis,
          const Call& call, std::size_t operand) {
  const auto found = bound.find(symbol);
  if (symbol == "1") {
    if (axis.size != 1) {
      throw InputError(fmt::format("{}: {} must be a vector or a matrix of one row", call.step,
                                   operand_text(call, operand)));
    }
    return;
  }
  if (found == bound.end()) {
    bound.emplace(symbol, Bound{std::move(axis), operand});
    return;
  }
  Axis& first = found->second.axis;
  if (first.size != axis.size) {
    throw InputError(fmt::format(
        "{}: {} is {} in {} but {} in {}", call.step, axis_text(symbol, first), first.size,
        operand_text(call, found->second.operand), axis.size, operand_text(call, operand)));
  }
  if (first.labels.empty()) first.labels = std::move(axis.labels);
  if (first.name.empty()) first.name = std::move(axis.name);
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
    std::array<Axis, 2> axes = matrix_axes(*call.inputs[k]);
    meet(bound, rows, std::move(axes[0]), call, k);
    meet(bound, columns, std::move(axes[1]), call, k);
  }
  Bindings result;
  for (auto& [symbol, meeting] : bound) {
    if (!is_placeholder(symbol) || meeting.axis.name.empty()) meeting.axis.name = symbol;
    result.emplace(symbol, std::move(meeting.axis));
  }
  return result;
}

std::vector<Axis> leading_axes(const Call& call) {
  std::vector<Axis> axes;
  std::vector<std::size_t> owner;  // the operand that set the size of each axis
  for (std::size_t k = 0; k < call.inputs.size(); ++k) {
    const Tensor& operand = *call.inputs[k];
    const std::size_t count = operand.leading_axes();
    if (count > axes.size()) {
      axes.insert(axes.begin(), count - axes.size(), Axis{.name = "", .size = 1});
      owner.insert(owner.begin(), count - owner.size(), k);
    }
    for (std::size_t a = 0; a < count; ++a) {
      const std::size_t place = axes.size() - count + a;
      Axis& axis = axes[place];
      const Axis& own = operand.axes[a];
      if (own.size == 1 && axis.size != 1) continue;
      if (axis.size != 1 && axis.size != own.size) {
        throw InputError(fmt::format("{}: {} is {} in {} but {} in {}", call.step,
                                     axis.name.empty() ? "the leading axis" : axis.name, axis.size,
                                     operand_text(call, owner[place]), own.size,
                                     operand_text(call, k)));
      }
      if (axis.size != own.size || axis.name.empty()) {
        axis = own;
        owner[place] = k;
      }
    }
  }
  return axes;
}

Tensor frame_of(const Call& call, const Form& form) {
  const Bindings bound = bind(call, form);
  std::vector<Axis> axes = leading_axes(call);
  const auto [rows, columns] = axis_names(form.output);
  axes.push_back(bound.find(rows)->second);
  axes.push_back(bound.find(columns)->second);
  return {.axes = std::move(axes), .values = {}};
}

Tensor output_of(const Call& call, const Form& form) {
  Tensor frame = frame_of(call, form);
  count_of(frame.shape(), call.step);  // too large: its name is told
  return unwritten(std::move(frame.axes));
}

}  // namespace qkv
