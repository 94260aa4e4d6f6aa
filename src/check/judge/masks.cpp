#include "check/judge/masks.hpp"

#include "check/tolerance/precision.hpp"

namespace qkv::inline check {
namespace {

Line line_through(const Tensor& tensor, std::size_t cell, bool down) {
  const std::size_t columns = tensor.columns();
  const std::size_t matrix = cell / (tensor.rows() * columns);
  return line_at(tensor, down ? matrix * columns + cell % columns : cell / columns, down);
}

bool is_near(double x, double y, double tolerance) { return std::abs(x - y) <= tolerance; }

// True if a low number is near the expected one.
bool is_score(const LearnerNode& node, std::size_t i, double value) {
  const double near = std::abs(value) / 10;
  return !expects_minus_infinity(node, i) && (is_near(value, node.truth->values[i], near) ||
                                              is_near(value, node.from_yours.values[i], near));
}

// True if softmax makes next to 0 of the value, since a number in its line is far larger; also if
// the whole line is hidden.
bool is_far_below(const LearnerNode& node, std::size_t i, double value) {
  constexpr double far = 40;  // e^-40 is 4e-18
  double seen = -infinity;
  for (const std::size_t k : line_through(node.own, i, runs_down(node.own)).cells()) {
    if (!expects_minus_infinity(node, k)) seen = std::max(seen, node.from_yours.values[k]);
  }
  return seen == -infinity || value <= seen - far;
}

// Computes the step from finite masks as typed: -1000 / √2 is a mask, too. Empty without masks.
Tensor worked_from_typed(const Judgement& judgement, const Trace& trace, const LearnerNode& node) {
  const auto has_masks = [&](std::size_t k) { return judgement.nodes[k].finite_mask; };
  if (!node.step || std::none_of(node.inputs.begin(), node.inputs.end(), has_masks)) return {};
  std::vector<Tensor> typed;
  for (const std::size_t k : node.inputs) {
    const LearnerNode& input = judgement.nodes[k];
    typed.push_back(input.own);
    for (std::size_t i = 0; has_masks(k) && input.submitted && i < typed.back().values.size();
         ++i) {
      if (input.has_number(i))
        typed.back().values.mutable_span()[i] = input.submitted->cells[i].value;
    }
  }
  Call call = own_call(judgement, trace, node);
  for (std::size_t k = 0; k < typed.size(); ++k) call.inputs[k] = &typed[k];
  return result_of(*node.step, call).value_or(Tensor());
}

// True if all numbers are -inf in the line of the operand that the cell's weight comes from.
bool hides_line(const Judgement& judgement, const LearnerNode& node, std::size_t cell) {
  const std::span<const double> operand = judgement.nodes[node.inputs.front()].own.values;
  const bool down = node.step->options.word("axis", "rows") == "columns";
  return operand.size() == node.own.values.size() &&
         std::ranges::all_of(line_through(node.own, cell, down).cells(),
                             [&](std::size_t k) { return operand[k] == -infinity; });
}

}  // namespace

Line line_at(const Tensor& tensor, std::size_t index, bool down) {
  const std::size_t columns = tensor.columns();
  if (!down) return {index * columns, columns, 1};
  return {index / columns * tensor.rows() * columns + index % columns, tensor.rows(), columns};
}

bool runs_down(const Tensor& tensor) { return tensor.axes.back().name == "query"; }

bool expects_minus_infinity(const LearnerNode& node, std::size_t i) {
  return node.truth->values[i] == -infinity || node.from_yours.values[i] == -infinity;
}

bool nan_follows(const Judgement& judgement, const LearnerNode& node, std::size_t cell) {
  return std::isnan(node.own.values[cell]) && node.step->operation->makes_weights &&
         hides_line(judgement, node, cell);
}

bool is_hidden_weight(const Judgement& judgement, const LearnerNode& node, std::size_t cell) {
  const std::span<const double> operand = judgement.nodes[node.inputs.front()].own.values;
  return operand.size() == node.own.values.size() && operand[cell] == -infinity &&
         !hides_line(judgement, node, cell);
}

std::vector<std::size_t> finite_masks(const Judgement& judgement, const Trace& trace,
                                      const LearnerNode& node) {
  const std::span<const double> truth = node.truth->values;
  if (std::find(truth.begin(), truth.end(), -infinity) == truth.end()) return {};
  const Tensor typed = worked_from_typed(judgement, trace, node);
  const NumeralCells& cells = node.submitted->cells;
  std::vector<std::size_t> masks;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const double value = cells[i].value;
    if (!std::isfinite(value)) continue;
    const bool follows = expects_minus_infinity(node, i) && !typed.values.empty() &&
                         typed.values[i] <= finite_mask / 10 &&
                         is_near(value, typed.values[i], std::abs(typed.values[i]) / 100);
    const bool is_mask = value <= finite_mask && !is_score(node, i, value);
    if ((is_mask || follows) && is_far_below(node, i, value)) masks.push_back(i);
  }
  return masks;
}

}  // namespace qkv::inline check
