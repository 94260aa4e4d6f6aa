#include "check/judge/judge.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <utility>

#include "check/judge/masks.hpp"
#include "check/tolerance/precision.hpp"
#include "ops/cell.hpp"
#include "ops/numbers/decimal.hpp"
#include "ops/result.hpp"
#include "text/error.hpp"

namespace qkv::inline check {
namespace {

/// Finds cells where no rounding occurs, and their exact values: all inputs are exact, and no
/// intermediate number has more decimals than the learner wrote. The judgement, which may still
/// grow, and the trace must outlive it.
class Exactness {
 public:
  Exactness(const Judgement& judgement, const Trace& trace)
      : judgement_(judgement), trace_(trace) {}

  /// Returns the cells of a submitted step, computed from the learner's earlier numbers with the
  /// decimals written; empty if none is exact.
  std::vector<Decimal> expected(const LearnerNode& node);

  /// Returns the cells of a matrix as operands of later steps with so many decimals; empty if none
  /// is exact.
  std::span<const Decimal> entering(std::size_t node, int decimals);

 private:
  std::vector<Decimal> worked_out(const LearnerNode& node, int decimals);
  std::vector<Decimal> of_given(const LearnerNode& node) const;
  std::vector<Decimal> handed_in(const LearnerNode& node, int decimals);

  const Judgement& judgement_;
  const Trace& trace_;
  std::map<std::pair<std::size_t, int>, std::vector<Decimal>> known_;
};

bool is_same(double x, double y, double floor) { return x == y || std::abs(x - y) <= floor; }

std::vector<Decimal> Exactness::worked_out(const LearnerNode& node, int decimals) {
  if (!node.step || node.from_yours.values.empty()) return {};
  std::vector<std::span<const Decimal>> operands;
  for (const std::size_t input : node.inputs) operands.push_back(entering(input, decimals));
  const Call call = own_call(judgement_, trace_, node);
  std::vector<Decimal> cells(node.from_yours.values.size(), Decimal::unknown());
  constexpr std::size_t operations = 64;
  each_cell<Decimal>({{.call = &call, .output = &node.from_yours}, {}, operands}, operations,
                     [&](const Cell<Decimal>& cell, std::size_t i) {
                       const Decimal number = node.step->operation->cell.decimal(cell);
                       if (number.decimals() <= decimals) cells[i] = number;
                     });
  const bool exact = std::ranges::any_of(cells, [](Decimal cell) { return cell.is_exact(); });
  return exact ? cells : std::vector<Decimal>();
}

// In e-notation each cell has its own decimals.
std::vector<Decimal> Exactness::expected(const LearnerNode& node) {
  if (node.units.basis == ToleranceBasis::other_matrices)
    return worked_out(node, 0);  // whole numbers
  if (node.units.basis != ToleranceBasis::exponents) return worked_out(node, node.units.decimals);
  const NumeralCells& written = node.submitted->cells;
  const auto decimals = [&](std::size_t i) {
    return written[i].scientific ? written[i].decimals : node.units.decimals;
  };
  int most = 0;
  for (std::size_t i = 0; i < written.size(); ++i) most = std::max(most, decimals(i));
  std::vector<Decimal> cells = worked_out(node, most);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (cells[i].decimals() > decimals(i)) cells[i] = Decimal::unknown();
  }
  return cells;
}

// A given is copied exactly, or is wrong and then meant as written. A rounded copy is neither.
std::vector<Decimal> Exactness::of_given(const LearnerNode& node) const {
  std::vector<Decimal> cells;
  bool any = false;
  for (std::size_t i = 0; i < node.own.values.size(); ++i) {
    const double own = std::as_const(node.own.values)[i];
    const double truth = std::as_const(node.truth->values)[i];
    const bool blank = !node.has_number(i);
    const bool wrong = !blank && node.verdicts[i] == Verdict::wrong;
    const bool copied = blank || is_same(own, truth, node.units.floor);
    cells.push_back(wrong ? Decimal(own) : copied ? Decimal(truth) : Decimal::unknown());
    any = any || cells.back().is_exact();
  }
  return any ? cells : std::vector<Decimal>();
}

// Returns the cells as written, if that is the exact value; blanks are computed.
std::vector<Decimal> Exactness::handed_in(const LearnerNode& node, int decimals) {
  if (!node.units.are_written()) return {};
  std::vector<Decimal> cells = expected(node);
  if (cells.empty()) return {};
  const bool any_blank = std::ranges::find(node.verdicts, Verdict::blank) != node.verdicts.end();
  const std::vector<Decimal> blanks =
      any_blank ? worked_out(node, decimals) : std::vector<Decimal>();
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (node.verdicts[i] == Verdict::wrong) {
      cells[i] = Decimal::unknown();
    } else if (node.verdicts[i] == Verdict::blank) {
      cells[i] = blanks.empty() ? Decimal::unknown() : blanks[i];
    } else if (!is_same(std::as_const(node.own.values)[i], cells[i].value(), node.units.floor)) {
      cells[i] = Decimal::unknown();
    }
  }
  return cells;
}

std::span<const Decimal> Exactness::entering(std::size_t index, int decimals) {
  const LearnerNode& node = judgement_.nodes[index];
  const std::pair key{index, node.step ? decimals : 0};
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second;
  std::vector<Decimal> cells = !node.step               ? of_given(node)
                               : node.submitted         ? handed_in(node, decimals)
                               : node.wrong_shape_array ? std::vector<Decimal>()
                                                        : worked_out(node, decimals);
  return known_.emplace(key, std::move(cells)).first->second;
}

constexpr std::string_view names[] = {"correct", "rounding", "carried", "wrong", "blank", "shape"};

}  // namespace

std::string_view verdict_name(Verdict verdict) { return names[static_cast<std::size_t>(verdict)]; }

std::size_t LearnerNode::wrong_cells() const {
  if (wrong_shape_array) return wrong_shape_array->cells.size();
  return static_cast<std::size_t>(std::count(verdicts.begin(), verdicts.end(), Verdict::wrong));
}

bool LearnerNode::has_number(std::size_t cell) const {
  return submitted && !submitted->cells[cell].is_blank() && submitted->cells[cell].unread == 0;
}

bool LearnerNode::is_exact(std::size_t cell) const {
  return !exact.empty() && !std::isnan(exact[cell]);
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

Call own_call(const Judgement& judgement, const Trace& trace, const LearnerNode& node) {
  return call_with(node, trace, [&](std::size_t k) -> const Tensor& {
    return node.has_lessons_inputs ? *judgement.nodes[k].truth : judgement.nodes[k].own;
  });
}

namespace {

/// Bounds a step for all inputs that lie within one unit of the learner's numbers. `units` are
/// those of the current matrix: they give the decimals of unsubmitted steps before it. All
/// constructor arguments must outlive it.
class Ranges {
 public:
  Ranges(const Judgement& judgement, const Trace& trace, Exactness& exactness,
         const MatrixTolerance& units)
      : judgement_(judgement), trace_(trace), exactness_(exactness), units_(units) {}

  /// Returns the bounds of the step's result before it is rounded.
  Range of_step(const LearnerNode& node);

 private:
  const Range& of_node(std::size_t index);
  Range of_made(std::size_t index);

  const Judgement& judgement_;
  const Trace& trace_;
  Exactness& exactness_;
  const MatrixTolerance& units_;
  std::map<std::size_t, Range> known_;
};

// A given is not rounded: a copied number is the lesson's or the learner's.
Range range_of_given(const LearnerNode& node) {
  Range range{*node.truth, *node.truth};
  if (!node.submitted) return range;
  for (std::size_t i = 0; i < range.low.values.size(); ++i) {
    if (!node.has_number(i)) continue;
    const double own = node.own.values[i];
    const bool wrong = node.verdicts[i] == Verdict::wrong;
    range.low.values.write()[i] = wrong ? own : std::min(own, range.low.values[i]);
    range.high.values.write()[i] = wrong ? own : std::max(own, range.high.values[i]);
  }
  return range;
}

// Bounds each cell by itself.
Range slow_range(const LearnerNode& node, const Call& call, std::span<const Bounds> bounds) {
  Range result{node.from_yours, node.from_yours};
  const std::span<double> low = result.low.values.write();
  const std::span<double> high = result.high.values.write();
  constexpr std::size_t operations = 64;
  each_cell<Interval>({{.call = &call, .output = &node.from_yours}, bounds}, operations,
                      [&](const Cell<Interval>& cell, std::size_t i) {
                        const Interval range = node.step->operation->cell.interval(cell);
                        low[i] = std::isnan(range.low) ? -infinity : range.low;
                        high[i] = std::isnan(range.high) ? infinity : range.high;
                      });
  return result;
}

Range Ranges::of_step(const LearnerNode& node) {
  if (node.inputs.empty() || node.has_lessons_inputs) {  // no rounding
    return {node.from_yours, node.from_yours};
  }
  const Call call = own_call(judgement_, trace_, node);
  std::vector<Bounds> bounds;
  for (const std::size_t input : node.inputs) {
    const Range& range = of_node(input);
    bounds.push_back({&range.low, &range.high});
  }
  const Operation& operation = *node.step->operation;
  constexpr std::size_t many_cells = 2048;
  if (operation.range && node.from_yours.values.size() >= many_cells) {
    if (auto range = operation.range(call, bounds, node.from_yours)) return std::move(*range);
  }
  return slow_range(node, call, bounds);
}

const Range& Ranges::of_node(std::size_t index) {
  const auto found = known_.find(index);
  if (found != known_.end()) return found->second;
  const LearnerNode& node = judgement_.nodes[index];
  return known_.emplace(index, node.step ? of_made(index) : range_of_given(node)).first->second;
}

Range Ranges::of_made(std::size_t index) {
  const LearnerNode& node = judgement_.nodes[index];
  bool complete = node.submitted != nullptr;
  for (std::size_t i = 0; complete && i < node.verdicts.size(); ++i) complete = node.has_number(i);
  Range range = complete ? Range{node.own, node.own} : of_step(node);
  // A program rounds all its results to its type, exact or not.
  const std::span<const Decimal> exact = units_.are_written()
                                             ? exactness_.entering(index, units_.decimals)
                                             : std::span<const Decimal>();
  const double unsubmitted = complete ? 0 : units_.unsubmitted(node.own.values);
  const std::span<double> low = range.low.values.write();
  const std::span<double> high = range.high.values.write();
  for (std::size_t i = 0; i < low.size(); ++i) {
    const bool own = node.has_number(i);
    if (!exact.empty() && exact[i].is_exact()) {  // no rounding occurs
      low[i] = high[i] = exact[i].value();
      continue;
    }
    const double unit = own ? node.units.of(i) : unsubmitted;
    const double from = own ? node.own.values[i] : low[i];
    low[i] = std::max(from - unit, std::min(from, node.step->operation->least));
    high[i] = (own ? node.own.values[i] : high[i]) + unit;
  }
  return range;
}

constexpr double no_bound = std::numeric_limits<double>::quiet_NaN();

bool within(double x, double y, double tolerance) {
  // Equal infinities match at any tolerance, and NaN matches an expected NaN.
  return x == y || std::abs(x - y) <= tolerance || (std::isnan(x) && std::isnan(y));
}

// Computes the step from the learner's own numbers, if possible.
Tensor recomputed_from_own(const Judgement& judgement, const Trace& trace, LearnerNode& node) {
  if (node.is_lessons) return *node.truth;
  try {
    return node.step->operation->compute(own_call(judgement, trace, node));
  } catch (const InputError&) {
    node.has_lessons_inputs = true;
    return *node.truth;
  }
}

// Finds the cells of a step that use a wrong or carried cell: those are NaN in the operands, and so
// is every dependent result. Untainted operands stay as they are.
Tensor tainted_result(const Judgement& judgement, const Trace& trace, const LearnerNode& node,
                      const std::vector<Tensor>& planted) {
  const auto with_nan = [&](std::size_t k) -> const Tensor& {
    return planted[k].axes.empty() ? judgement.nodes[k].own : planted[k];
  };
  try {
    return node.step->operation->compute(call_with(node, trace, with_nan));
  } catch (const InputError&) {
    Tensor all = node.from_yours;
    std::ranges::fill(all.values.write(), no_bound);
    return all;
  }
}

// Returns the exact values as doubles.
std::vector<double> values_of(const std::vector<Decimal>& exact) {
  std::vector<double> values;
  values.reserve(exact.size());
  for (const Decimal& cell : exact) values.push_back(cell.value());
  return values;
}

class Judge {
 public:
  Judge(const Trace& trace, const std::vector<SubmittedArray>& submitted,
        const CheckOptions& options)
      : trace_(trace), handed_(submitted), options_(options) {
    for (const SubmittedArray& matrix : submitted) {
      // A given is copied, so its decimals are no evidence of how the learner rounds.
      const bool is_step = trace.find_step(matrix.name) != nullptr;
      rounding_.push_back(is_step
                              ? OtherDecimals{most_decimals(matrix), rounded_decimals_of(matrix)}
                              : OtherDecimals{});
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
    node.from_yours = step ? recomputed_from_own(judgement_, trace_, node) : truth;
    node.own = node.from_yours;
    for (const SubmittedArray& submitted : handed_) {
      if (submitted.name == name)
        (submitted.fits ? node.submitted : node.wrong_shape_array) = &submitted;
    }
    if (node.submitted) node.is_lessons = false;
    if (node.submitted) take_over(node);
    if (node.wrong_shape_array) {
      node.units =
          matrix_tolerance(*node.wrong_shape_array, {node.from_yours.values, node.truth->values},
                           others_than(*node.wrong_shape_array), options_.digits);
    }
    Tensor taint;  // empty if all earlier cells are right
    if (!node.wrong_shape_array && inherits(node)) {
      taint = tainted_result(judgement_, trace_, node, tainted_);
    }
    if (node.submitted) judge_cells(node, taint);
    mark_tainted(node, taint);
    index_.emplace(name, judgement_.nodes.size());
    judgement_.nodes.push_back(std::move(node));
    if (options_.on_matrix) options_.on_matrix();
  }

  OtherDecimals others_than(const SubmittedArray& submitted) const {
    OtherDecimals most;
    for (std::size_t i = 0; i < handed_.size(); ++i) {
      if (&handed_[i] == &submitted) continue;
      most.written = std::max(most.written, rounding_[i].written);
      most.rounded = std::max(most.rounded, rounding_[i].rounded);
    }
    return most;
  }

  MatrixTolerance units_for(const LearnerNode& node, const SubmittedArray& matrix) const {
    if (!node.step) return copied_tolerance(matrix, node.truth->values, options_.digits);
    return matrix_tolerance(matrix, {node.from_yours.values, node.truth->values},
                            others_than(*node.submitted), options_.digits);
  }

  void take_over(LearnerNode& node) {
    const SubmittedArray& submitted = *node.submitted;
    for (std::size_t i = 0; i < submitted.cells.size(); ++i) {
      if (node.has_number(i)) node.own.values.write()[i] = submitted.cells[i].value;
    }
    std::vector<std::size_t> masks;
    if (!options_.strict) masks = finite_masks(judgement_, trace_, node);
    if (masks.empty()) {
      node.units = units_for(node, submitted);
      return;
    }
    Numerals rest = submitted.cells.copy();
    for (const std::size_t i : masks) {
      rest[i] = {.value = -infinity};
      node.own.values.write()[i] = -infinity;
      node.finite_mask = node.finite_mask || expects_minus_infinity(node, i);
    }
    // The masks' notation is no evidence for the other cells.
    node.units = units_for(node, {.name = submitted.name,
                                  .shape = submitted.shape,
                                  .cells = NumeralCells(std::move(rest)),
                                  .precision = submitted.precision,
                                  .rounded_to = submitted.rounded_to});
  }

  void judge_cells(LearnerNode& node, const Tensor& taint) {
    const std::size_t count = node.submitted->cells.size();
    // If the floor is the unit, exactness would be no stricter.
    if (node.step && node.units.are_written() && node.units.largest() > node.units.floor) {
      node.exact = values_of(exactness_.expected(node));
    }
    bool all_right = true;
    for (std::size_t i = 0; i < count; ++i) {
      const bool blank = node.submitted->cells[i].is_blank();
      const bool right = node.has_number(i) && is_right(node, i);
      node.verdicts.push_back(blank ? Verdict::blank : right ? Verdict::correct : Verdict::wrong);
      all_right = all_right && (blank || right);
    }
    if (all_right || !node.step) return;
    // In e-notation, cells have smaller units than the whole matrix.
    const Range range = Ranges(judgement_, trace_, exactness_, node.units).of_step(node);
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

  // Where no rounding occurs, the result from the learner's own numbers is as right as the
  // lesson's, if both agree within a unit.
  static bool is_right(const LearnerNode& node, std::size_t i) {
    const double x = node.own.values[i];
    const double truth = node.truth->values[i];
    if (!within(x, truth, node.units.tolerance(i))) return false;
    if (!node.is_exact(i)) return true;
    return within(x, truth, node.units.floor) || within(x, node.exact[i], node.units.floor);
  }

  static bool follows(const LearnerNode& node, const Range& range, std::size_t i) {
    if (!node.has_number(i)) return false;
    const double x = node.own.values[i];
    if (node.is_exact(i)) return within(x, node.exact[i], node.units.floor);
    if (std::isnan(node.from_yours.values[i]) || std::isnan(x)) {
      return std::isnan(x) && std::isnan(node.from_yours.values[i]);
    }
    const double tolerance = node.units.tolerance(i);
    const double low = range.low.values[i];
    const double high = range.high.values[i];
    if (std::isinf(x)) return x == low || x == high;
    const double noise = 1e-12 * std::abs(x);  // of the sums' last bits
    return x >= low - tolerance - noise && x <= high + tolerance + noise;
  }

  void mark_tainted(LearnerNode& node, const Tensor& taint) {
    if (node.wrong_shape_array) {
      tainted_.push_back(node.own);
      std::ranges::fill(tainted_.back().values.write(), no_bound);
      node.tainted = true;
      return;
    }
    if (taint.values.empty() && node.wrong_cells() == 0) {
      tainted_.emplace_back();
      return;
    }
    Tensor planted = node.own;
    for (std::size_t i = 0; i < planted.values.size(); ++i) {
      const bool judged = node.submitted && node.verdicts[i] != Verdict::blank;
      const bool bad =
          judged ? node.verdicts[i] == Verdict::wrong || node.verdicts[i] == Verdict::carried
                 : !taint.values.empty() && std::isnan(taint.values[i]);
      if (!bad) continue;
      planted.values.write()[i] = no_bound;
      node.tainted = true;
    }
    tainted_.push_back(std::move(planted));
  }

  const Trace& trace_;
  const std::vector<SubmittedArray>& handed_;
  const CheckOptions& options_;
  std::vector<OtherDecimals> rounding_;  // of each submitted matrix
  Judgement judgement_;
  Exactness exactness_{judgement_, trace_};
  // Each node's own numbers, NaN where wrong or carried; empty for untainted nodes.
  std::vector<Tensor> tainted_;
  std::map<std::string, std::size_t, std::less<>> index_;
};

}  // namespace

Judgement judge(const Trace& trace, const std::vector<SubmittedArray>& submitted,
                const CheckOptions& options, std::size_t too_many) {
  return Judge(trace, submitted, options).run(too_many);
}

}  // namespace qkv::inline check
