#include "check/judge/exactness.hpp"

#include "tensor/matmul.hpp"

namespace qkv::inline check {
namespace {

bool is_near(double x, double y, double tolerance) {
  return x == y || std::abs(x - y) <= tolerance;
}

Line line_through(const Tensor& tensor, std::size_t cell, bool down) {
  const std::size_t columns = tensor.columns();
  const std::size_t matrix = cell / (tensor.rows() * columns);
  return line_at(tensor, down ? matrix * columns + cell % columns : cell / columns, down);
}

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

// True if all numbers are -inf in the line of the operand that the cell's weight comes from.
bool hides_line(const Judgement& judgement, const LearnerNode& node, std::size_t cell) {
  const std::span<const double> operand = judgement.nodes[node.inputs.front()].own.values;
  const bool down = node.step->options.word("axis", "rows") == "columns";
  return operand.size() == node.own.values.size() &&
         std::ranges::all_of(line_through(node.own, cell, down).cells(),
                             [&](std::size_t k) { return operand[k] == -infinity; });
}

}  // namespace

// True if a number has no more digits than a learner writes down.
bool Exactness::Digits::hold(const Decimal& number) const {
  if (number.decimals() > decimals) return false;
  const double unit = std::pow(10.0, -number.decimals());
  return significant == 0 || std::abs(number.value()) < unit * std::pow(10.0, significant);
}

std::vector<Decimal> Exactness::of_computed(const LearnerNode& node, Digits digits,
                                            Precision type) {
  if (!node.step || node.from_yours.values.empty()) return {};
  const auto operands =
      mapped(node.inputs, [&](std::size_t input) { return entering(input, digits, type); });
  // A program has large matrices: nothing is worked out where an operand has no exact cell.
  const auto is_empty = [](std::span<const Decimal> cells) { return cells.empty(); };
  if (type != Precision::digits && std::ranges::any_of(operands, is_empty)) return {};
  const Call call = own_call(judgement_, trace_, node);
  const Evaluators& maths = node.step->operation->cell;
  // A number that is only moved, in a step that was not written down, is rounded nowhere.
  const auto is_moved = [&](const CellBase& cell) {
    return type == Precision::digits && !node.submitted &&
           maths.expression({cell}).kind() == Expression::Kind::cell;
  };
  std::vector<Decimal> cells(node.from_yours.values.size(), Decimal::unknown());
  constexpr std::size_t operations = 64;
  each_cell<Decimal>({{.call = &call, .output = &node.from_yours}, {}, operands}, operations,
                     [&](const Cell<Decimal>& cell, std::size_t i) {
                       const Decimal number = maths.decimal(cell);
                       if (!is_held(number.value(), type)) return;
                       if (digits.hold(number) || is_moved(cell)) cells[i] = number;
                     });
  const bool exact = std::ranges::any_of(cells, [](Decimal cell) { return cell.is_exact(); });
  return exact ? cells : std::vector<Decimal>();
}

// In e-notation each cell has its own decimals, and numbers on the way to it have its digits.
std::vector<Decimal> Exactness::expected(const LearnerNode& node) {
  if (!node.units.are_written())
    return of_computed(node, {rule_of(Precision::float64).decimals}, node.units.precision);
  if (node.units.basis == ToleranceBasis::other_matrices)
    return of_computed(node, {0});  // whole numbers
  if (node.units.basis != ToleranceBasis::exponents)
    return of_computed(node, {node.units.decimals});
  const NumeralCells& written = node.submitted->cells;
  const auto decimals = [&](std::size_t i) {
    return written[i].scientific ? written[i].decimals : node.units.decimals;
  };
  int most = 0;
  for (std::size_t i = 0; i < written.size(); ++i) most = std::max(most, decimals(i));
  std::vector<Decimal> cells = of_computed(node, {most, node.units.significant});
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (cells[i].decimals() > decimals(i)) cells[i] = Decimal::unknown();
  }
  return cells;
}

// A given is copied exactly, or is wrong and then meant as written. A rounded copy is neither.
std::vector<Decimal> Exactness::of_given(const LearnerNode& node, Precision type) const {
  std::vector<Decimal> cells;
  bool any = false;
  const std::size_t columns = node.truth->columns();
  Scratch line;  // a model's weights stay in their file
  std::span<const double> right;
  for (std::size_t i = 0; i < node.own.values.size(); ++i) {
    if (i % columns == 0) right = node.truth->values.read(i, columns, line);
    const double truth = right[i % columns];
    const bool blank = !node.has_number(i);
    const double own = blank ? truth : std::as_const(node.own.values)[i];
    const bool wrong = !blank && node.verdicts[i] == Verdict::wrong;
    const bool copied = blank || is_near(own, truth, node.units.floor);
    cells.push_back(wrong ? Decimal(own) : copied ? Decimal(truth) : Decimal::unknown());
    any = any || cells.back().is_exact();
    const bool is_program = type != Precision::digits;
    if (is_program && !(cells.back().is_exact() && is_held(cells.back().value(), type))) return {};
  }
  return any ? cells : std::vector<Decimal>();
}

// Returns the cells as written, if that is the exact value; blanks are computed.
std::vector<Decimal> Exactness::of_submitted(const LearnerNode& node, Digits digits) {
  std::vector<Decimal> cells = expected(node);
  if (cells.empty()) return {};
  const bool any_blank = contains(node.verdicts, Verdict::blank);
  // A half precision's own unit is no rounding of an exact number.
  const bool is_fine = node.units.are_written() || node.units.precision == Precision::float64;
  const double slack = is_fine ? node.units.floor : 0;
  const std::vector<Decimal> blanks =
      any_blank ? of_computed(node, digits) : std::vector<Decimal>();
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (node.verdicts[i] == Verdict::blank) {
      cells[i] = blanks.empty() ? Decimal::unknown() : blanks[i];
    } else if (node.verdicts[i] == Verdict::wrong ||
               !is_near(std::as_const(node.own.values)[i], cells[i].value(), slack)) {
      cells[i] = Decimal::unknown();
    } else {
      cells[i] = cells[i].written();
    }
  }
  return cells;
}

std::span<const Decimal> Exactness::entering(std::size_t index, Digits digits, Precision type) {
  const LearnerNode& node = judgement_.nodes[index];
  const std::tuple key{index, node.step ? digits : Digits{0}, type};
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second;
  std::vector<Decimal> cells = !node.step               ? of_given(node, type)
                               : node.submitted         ? of_submitted(node, digits)
                               : node.wrong_shape_array ? std::vector<Decimal>()
                                                        : of_computed(node, digits, type);
  return known_.emplace(key, std::move(cells)).first->second;
}

Line line_at(const Tensor& tensor, std::size_t index, bool down) {
  const std::size_t columns = tensor.columns();
  if (!down) return {index * columns, columns, 1};
  return {index / columns * tensor.rows() * columns + index % columns, tensor.rows(), columns};
}

bool runs_down(const Tensor& tensor) { return tensor.axes.back().name == "query"; }

bool expects_minus_infinity(const LearnerNode& node, std::size_t i) {
  return node.truth->values[i] == -infinity || node.from_yours.values[i] == -infinity;
}

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

bool follows_in_hidden_line(const Judgement& judgement, const LearnerNode& node,
                            const Tensor& typed, std::size_t cell) {
  if (!node.step->operation->makes_weights || !hides_line(judgement, node, cell)) return false;
  const double x = node.own.values[cell];
  if (!std::isnan(x))
    return !typed.values.empty() && is_near(x, typed.values[cell], node.units.tolerance(cell));
  const bool down = node.step->options.word("axis", "rows") == "columns";
  return std::ranges::all_of(line_through(node.own, cell, down).cells(), [&](std::size_t k) {
    return !node.has_number(k) || std::isnan(node.own.values[k]);
  });
}

bool is_hidden_weight(const Judgement& judgement, const LearnerNode& node, std::size_t cell) {
  const std::span<const double> operand = judgement.nodes[node.inputs.front()].own.values;
  return operand.size() == node.own.values.size() && operand[cell] == -infinity &&
         !hides_line(judgement, node, cell);
}

std::vector<std::size_t> finite_masks(const Judgement& judgement, const Trace& trace,
                                      const LearnerNode& node) {
  const std::span<const double> truth = node.truth->values;
  if (all_finite(truth) || !contains(truth, -infinity)) return {};
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
