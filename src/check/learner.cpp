#include "check/learner.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "check/precision.hpp"
#include "tensor/error.hpp"

namespace qkv {
namespace {

constexpr double nothing = std::numeric_limits<double>::quiet_NaN();
constexpr std::string_view names[] = {"correct", "rounding", "carried", "wrong", "blank", "shape"};

bool within(double x, double y, double reach) {
  return x == y || std::abs(x - y) <= reach;  // equal infinities are within anything
}

Call own_call(const Judgement& judgement, const Trace& trace, const LearnerNode& node) {
  return call_of(node, judgement.nodes, trace,
                 [&](std::size_t input) -> const Tensor& { return judgement.nodes[input].own; });
}

// The step from the learner's own numbers. Numbers that no step can be made of (an id that no table
// has) leave the lesson's own result to judge by.
Tensor worked_from_own(const Judgement& judgement, const Trace& trace, const LearnerNode& node) {
  if (node.is_lessons) return *node.truth;
  try {
    return node.step->operation->compute(own_call(judgement, trace, node));
  } catch (const InputError&) {
    return *node.truth;
  }
}

// The matrix that a range is asked for decides to how many decimals the steps between were worked.
class Ranges {
 public:
  Ranges(const Judgement& judgement, const Trace& trace, double unit)
      : judgement_(judgement), trace_(trace), unit_(unit) {}

  // What the step's own maths gives, before anybody rounds it.
  Range of_step(const LearnerNode& node) {
    if (node.inputs.empty()) return {node.from_yours, node.from_yours};  // nothing to round
    const Call call = own_call(judgement_, trace_, node);
    std::vector<const Range*> inputs;
    for (const std::size_t input : node.inputs) inputs.push_back(&of_node(input));
    std::vector<Bounds> bounds;
    for (const Range* range : inputs) bounds.push_back({&range->low, &range->high});
    const Operation& operation = *node.step->operation;
    constexpr std::size_t many_cells = 2048;
    if (operation.range && node.from_yours.values.size() >= many_cells) {
      if (auto range = operation.range(call, bounds, node.from_yours)) return std::move(*range);
    }
    Range result{node.from_yours, node.from_yours};
    Cell<Interval> cell;
    cell.call = &call;
    cell.output = &node.from_yours;
    cell.bounds = bounds;
    std::size_t i = 0;
    for (cell.matrix = 0; cell.matrix < node.from_yours.matrices(); ++cell.matrix) {
      for (cell.row = 0; cell.row < node.from_yours.rows(); ++cell.row) {
        for (cell.column = 0; cell.column < node.from_yours.columns(); ++cell.column, ++i) {
          const Interval range = operation.cell.interval(cell);
          result.low.values[i] = std::isnan(range.low) ? -infinity : range.low;
          result.high.values[i] = std::isnan(range.high) ? infinity : range.high;
        }
      }
    }
    return result;
  }

 private:
  const Range& of_node(std::size_t index) {
    const auto found = known_.find(index);
    if (found != known_.end()) return found->second;
    const LearnerNode& node = judgement_.nodes[index];
    return known_.emplace(index, node.step ? of_made(node) : of_given(node)).first->second;
  }

  // A given has no rounding of its own: a copied number is the lesson's or the learner's.
  static Range of_given(const LearnerNode& node) {
    Range range{*node.truth, *node.truth};
    if (!node.handed) return range;
    for (std::size_t i = 0; i < range.low.values.size(); ++i) {
      if (node.verdicts[i] == Verdict::blank) continue;
      const double own = node.own.values[i];
      const bool wrong = node.verdicts[i] == Verdict::wrong;
      range.low.values[i] = wrong ? own : std::min(own, range.low.values[i]);
      range.high.values[i] = wrong ? own : std::max(own, range.high.values[i]);
    }
    return range;
  }

  Range of_made(const LearnerNode& node) {
    const bool complete =
        node.handed && std::none_of(node.verdicts.begin(), node.verdicts.end(),
                                    [](Verdict v) { return v == Verdict::blank; });
    Range range = complete ? Range{node.own, node.own} : of_step(node);
    for (std::size_t i = 0; i < range.low.values.size(); ++i) {
      const bool own = node.handed && node.verdicts[i] != Verdict::blank;
      if (!own && is_whole(range, i)) continue;  // whoever works it out has nothing to round
      const double unit = own ? node.units.of(i) : unit_;
      range.low.values[i] = (own ? node.own.values[i] : range.low.values[i]) - unit;
      range.high.values[i] = (own ? node.own.values[i] : range.high.values[i]) + unit;
    }
    return range;
  }

  // For a learner who only writes whole numbers: whole, but for the floor of the unit.
  bool is_whole(const Range& range, std::size_t i) const {
    constexpr double certain = 1e-4;
    if (unit_ != whole_numbers_unit) return false;
    const double nearest = std::round(range.low.values[i]);
    return std::abs(range.low.values[i] - nearest) < certain &&
           std::abs(range.high.values[i] - nearest) < certain;
  }

  const Judgement& judgement_;
  const Trace& trace_;
  double unit_;
  std::map<std::size_t, Range> known_;
};

// Which cells of a step use a cell that is wrong or carried: those are planted as NaN in the
// operands, and whatever they touch comes out as NaN. Nothing is planted where all is well.
Tensor tainted_result(const Judgement& judgement, const Trace& trace, const LearnerNode& node,
                      const std::vector<Tensor>& planted) {
  Call call = own_call(judgement, trace, node);
  for (std::size_t k = 0; k < node.inputs.size(); ++k) {
    const Tensor& with_nan = planted[node.inputs[k]];
    if (!with_nan.axes.empty()) call.inputs[k] = &with_nan;
  }
  try {
    return node.step->operation->compute(call);
  } catch (const InputError&) {
    Tensor all = node.from_yours;
    std::fill(all.values.begin(), all.values.end(), nothing);
    return all;
  }
}

class Judge {
 public:
  Judge(const Trace& trace, const std::vector<Handed>& handed, const CheckOptions& options)
      : trace_(trace), handed_(handed), options_(options) {
    for (const Handed& matrix : handed) {
      // A given is copied, so its decimals say nothing of how the learner rounds.
      decimals_.push_back(trace.find_step(matrix.name) ? most_decimals(matrix) : 0);
    }
  }

  Judgement run(std::size_t too_many) {
    std::size_t wrong = 0;
    const auto add_to = [&](const std::string& name, const Tensor& tensor, const Step* step) {
      judgement_.given_up = judgement_.given_up || wrong >= too_many;
      if (judgement_.given_up) return;
      add(name, tensor, step);
      wrong += judgement_.nodes.back().wrong_cells();
    };
    for (const Given& given : trace_.givens) add_to(given.name, given.tensor, nullptr);
    for (const Step& step : trace_.steps) add_to(step.name, step.output, &step);
    judgement_.given_up = judgement_.given_up || wrong >= too_many;
    return std::move(judgement_);
  }

 private:
  void add(const std::string& name, const Tensor& truth, const Step* step) {
    LearnerNode node{.name = name, .truth = &truth, .step = step};
    if (step) {
      for (const std::string& input : step->of) node.inputs.push_back(index_.at(input));
    }
    node.is_lessons = std::ranges::all_of(
        node.inputs, [&](std::size_t k) { return judgement_.nodes[k].is_lessons; });
    node.from_yours = step ? worked_from_own(judgement_, trace_, node) : truth;
    node.own = node.from_yours;
    for (const Handed& handed : handed_) {
      if (handed.name == name) (handed.fits ? node.handed : node.misshapen) = &handed;
    }
    if (node.handed) node.is_lessons = false;
    if (node.handed) take_over(node);
    if (node.misshapen) {
      node.units = units_of(*node.misshapen, {node.from_yours.values, node.truth->values},
                            decimals_elsewhere(*node.misshapen), options_.digits);
    }
    if (node.handed) judge_cells(node);
    plant(node);
    index_.emplace(name, judgement_.nodes.size());
    judgement_.nodes.push_back(std::move(node));
    if (options_.on_matrix) options_.on_matrix();
  }

  int decimals_elsewhere(const Handed& handed) const {
    int most = 0;
    for (std::size_t i = 0; i < handed_.size(); ++i) {
      if (&handed_[i] != &handed) most = std::max(most, decimals_[i]);
    }
    return most;
  }

  void take_over(LearnerNode& node) {
    const Handed& handed = *node.handed;
    const std::vector<std::size_t> masks = finite_masks(node);
    const auto units = [&](const Handed& matrix) {
      if (!node.step) return units_of_copy(matrix, node.truth->values, options_.digits);
      return units_of(matrix, {node.from_yours.values, node.truth->values},
                      decimals_elsewhere(handed), options_.digits);
    };
    for (std::size_t i = 0; i < handed.cells.size(); ++i) {
      if (!std::isnan(handed.cells[i].value)) node.own.values[i] = handed.cells[i].value;
    }
    if (masks.empty()) {
      node.units = units(handed);
      return;
    }
    std::vector<Numeral> rest = handed.cells.copy();
    for (const std::size_t i : masks) {
      rest[i] = {.value = -infinity};
      node.own.values[i] = -infinity;
      node.finite_mask = node.finite_mask || is_hidden(node, i);
    }
    // The masks say nothing of how the others are written.
    node.units = units({.name = handed.name,
                        .shape = handed.shape,
                        .cells = Cells(std::move(rest)),
                        .precision = handed.precision,
                        .stored = handed.stored});
  }

  // Whether -inf is due in the lesson, or follows from where the learner has put it before.
  static bool is_hidden(const LearnerNode& node, std::size_t i) {
    return node.truth->values[i] == -infinity || node.from_yours.values[i] == -infinity;
  }

  // Whether a low number is near the one that the cell should hold.
  static bool is_score(const LearnerNode& node, std::size_t i, double value) {
    const double near = std::abs(value) / 10;
    return !is_hidden(node, i) && (within(value, node.truth->values[i], near) ||
                                   within(value, node.from_yours.values[i], near));
  }

  // In a matrix in which -inf is due, very low numbers stand for it, in the wrong places, too.
  std::vector<std::size_t> finite_masks(const LearnerNode& node) const {
    std::vector<std::size_t> masks;
    const std::span<const double> truth = node.truth->values;
    const Cells& cells = node.handed->cells;
    if (options_.strict || std::find(truth.begin(), truth.end(), -infinity) == truth.end())
      return {};
    const Tensor typed = worked_from_typed(node);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const double value = cells[i].value;
      if (!std::isfinite(value)) continue;
      const bool follows = is_hidden(node, i) && !typed.values.empty() &&
                           typed.values[i] <= finite_mask / 10 &&
                           within(value, typed.values[i], std::abs(typed.values[i]) / 100);
      if ((value <= finite_mask && !is_score(node, i, value)) || follows) masks.push_back(i);
    }
    return masks;
  }

  // The step made of finite masks as they were typed: -1000 / √2 is a mask as well. Empty where
  // none went into it.
  Tensor worked_from_typed(const LearnerNode& node) const {
    const auto has_masks = [&](std::size_t k) { return judgement_.nodes[k].finite_mask; };
    if (!node.step || std::none_of(node.inputs.begin(), node.inputs.end(), has_masks)) return {};
    std::vector<Tensor> typed;
    for (const std::size_t k : node.inputs) {
      const LearnerNode& input = judgement_.nodes[k];
      typed.push_back(input.own);
      for (std::size_t i = 0; has_masks(k) && input.handed && i < typed.back().values.size(); ++i) {
        const double value = input.handed->cells[i].value;
        if (!std::isnan(value)) typed.back().values[i] = value;
      }
    }
    Call call = own_call(judgement_, trace_, node);
    for (std::size_t k = 0; k < typed.size(); ++k) call.inputs[k] = &typed[k];
    try {
      return node.step->operation->compute(call);
    } catch (const InputError&) {
      return {};
    }
  }

  void judge_cells(LearnerNode& node) {
    const std::size_t count = node.handed->cells.size();
    bool all_right = true;
    for (std::size_t i = 0; i < count; ++i) {
      const bool blank = std::isnan(node.handed->cells[i].value);
      const bool right = within(node.own.values[i], node.truth->values[i], node.units.reach(i));
      node.verdicts.push_back(blank ? Verdict::blank : right ? Verdict::correct : Verdict::wrong);
      all_right = all_right && (blank || right);
    }
    if (all_right || !node.step) return;
    // Cells in e-notation have smaller units than the matrix as a whole.
    const Range range = Ranges(judgement_, trace_, node.units.largest()).of_step(node);
    Tensor taint;
    if (inherits(node)) taint = tainted_result(judgement_, trace_, node, planted_);
    for (std::size_t i = 0; i < count; ++i) {
      if (node.verdicts[i] != Verdict::wrong || !follows(node, range, i)) continue;
      const bool carried = !taint.values.empty() && std::isnan(taint.values[i]);
      node.verdicts[i] = carried ? Verdict::carried : Verdict::rounding;
    }
  }

  bool inherits(const LearnerNode& node) const {
    return std::any_of(node.inputs.begin(), node.inputs.end(),
                       [&](std::size_t k) { return judgement_.nodes[k].tainted; });
  }

  static bool follows(const LearnerNode& node, const Range& range, std::size_t i) {
    const double x = node.own.values[i];
    const double reach = node.units.reach(i);
    const double low = range.low.values[i];
    const double high = range.high.values[i];
    if (std::isinf(x)) return x == low || x == high;
    const double noise = 1e-12 * std::abs(x);  // of the last bits of the sums
    return x >= low - reach - noise && x <= high + reach + noise;
  }

  void plant(LearnerNode& node) {
    if (node.misshapen) {
      planted_.push_back(node.own);
      std::fill(planted_.back().values.begin(), planted_.back().values.end(), nothing);
      node.tainted = true;
      return;
    }
    Tensor taint;
    if (inherits(node)) taint = tainted_result(judgement_, trace_, node, planted_);
    if (taint.values.empty() && node.wrong_cells() == 0) {
      planted_.emplace_back();
      return;
    }
    Tensor planted = node.own;
    for (std::size_t i = 0; i < planted.values.size(); ++i) {
      const bool judged = node.handed && node.verdicts[i] != Verdict::blank;
      const bool bad =
          judged ? node.verdicts[i] == Verdict::wrong || node.verdicts[i] == Verdict::carried
                 : !taint.values.empty() && std::isnan(taint.values[i]);
      if (!bad) continue;
      planted.values[i] = nothing;
      node.tainted = true;
    }
    planted_.push_back(std::move(planted));
  }

  const Trace& trace_;
  const std::vector<Handed>& handed_;
  const CheckOptions& options_;
  std::vector<int> decimals_;  // of each matrix that was handed in
  Judgement judgement_;
  // Each node's own numbers, NaN where they are wrong or carried; empty where none can be.
  std::vector<Tensor> planted_;
  std::map<std::string, std::size_t, std::less<>> index_;
};

}  // namespace

std::string_view verdict_name(Verdict verdict) { return names[static_cast<std::size_t>(verdict)]; }

std::size_t LearnerNode::wrong_cells() const {
  if (misshapen) return misshapen->cells.size();
  return static_cast<std::size_t>(std::count(verdicts.begin(), verdicts.end(), Verdict::wrong));
}

std::size_t Judgement::wrong_nodes() const {
  return static_cast<std::size_t>(std::count_if(
      nodes.begin(), nodes.end(), [](const LearnerNode& node) { return node.wrong_cells() > 0; }));
}

std::size_t Judgement::wrong_cells() const {
  std::size_t count = 0;
  for (const LearnerNode& node : nodes) count += node.wrong_cells();
  return count;
}

Judgement judge(const Trace& trace, const std::vector<Handed>& handed, const CheckOptions& options,
                std::size_t too_many) {
  return Judge(trace, handed, options).run(too_many);
}

Range range_of_step(const Judgement& judgement, const Trace& trace, std::size_t node, double unit) {
  return Ranges(judgement, trace, unit).of_step(judgement.nodes[node]);
}

}  // namespace qkv
