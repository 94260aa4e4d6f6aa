#include "check/judge/judge.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "check/judge/exactness.hpp"
#include "check/judge/masks.hpp"
#include "check/judge/ranges.hpp"
#include "check/tolerance/visible_decimals.hpp"
#include "text/error.hpp"

namespace qkv {
namespace {

constexpr double nothing = std::numeric_limits<double>::quiet_NaN();

bool within(double x, double y, double reach) {
  // Equal infinities are within anything, and NaN is right where NaN is due.
  return x == y || std::abs(x - y) <= reach || (std::isnan(x) && std::isnan(y));
}

// The step from the learner's own numbers, if it can be made of them.
Tensor worked_from_own(const Judgement& judgement, const Trace& trace, LearnerNode& node) {
  if (node.is_lessons) return *node.truth;
  try {
    return node.step->operation->compute(own_call(judgement, trace, node));
  } catch (const InputError&) {
    node.has_lessons_inputs = true;
    return *node.truth;
  }
}

// Which cells of a step use a cell that is wrong or carried: those are planted as NaN in the
// operands, and whatever they touch comes out as NaN. Nothing is planted where all is well.
Tensor tainted_result(const Judgement& judgement, const Trace& trace, const LearnerNode& node,
                      const std::vector<Tensor>& planted) {
  const auto with_nan = [&](std::size_t k) -> const Tensor& {
    return planted[k].axes.empty() ? judgement.nodes[k].own : planted[k];
  };
  try {
    return node.step->operation->compute(call_with(node, trace, with_nan));
  } catch (const InputError&) {
    Tensor all = node.from_yours;
    std::ranges::fill(all.values.write(), nothing);
    return all;
  }
}

// What a cell with nothing to round must be, from the learner's own numbers.
std::vector<double> values_of(const std::vector<Decimal>& exact) {
  std::vector<double> values;
  values.reserve(exact.size());
  for (const Decimal& cell : exact) values.push_back(cell.value());
  return values;
}

class Judge {
 public:
  Judge(const Trace& trace, const std::vector<Handed>& handed, const CheckOptions& options)
      : trace_(trace), handed_(handed), options_(options) {
    for (const Handed& matrix : handed) {
      // A given is copied, so its decimals say nothing of how the learner rounds.
      const bool is_step = trace.find_step(matrix.name) != nullptr;
      rounding_.push_back(is_step
                              ? OtherMatrices{most_decimals(matrix), rounded_decimals_of(matrix)}
                              : OtherMatrices{});
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
                            others_than(*node.misshapen), options_.digits);
    }
    Tensor taint;  // empty where all is well before
    if (!node.misshapen && inherits(node)) {
      taint = tainted_result(judgement_, trace_, node, planted_);
    }
    if (node.handed) judge_cells(node, taint);
    plant(node, taint);
    index_.emplace(name, judgement_.nodes.size());
    judgement_.nodes.push_back(std::move(node));
    if (options_.on_matrix) options_.on_matrix();
  }

  OtherMatrices others_than(const Handed& handed) const {
    OtherMatrices most;
    for (std::size_t i = 0; i < handed_.size(); ++i) {
      if (&handed_[i] == &handed) continue;
      most.written = std::max(most.written, rounding_[i].written);
      most.rounded = std::max(most.rounded, rounding_[i].rounded);
    }
    return most;
  }

  Units units_for(const LearnerNode& node, const Handed& matrix) const {
    if (!node.step) return units_of_copy(matrix, node.truth->values, options_.digits);
    return units_of(matrix, {node.from_yours.values, node.truth->values}, others_than(*node.handed),
                    options_.digits);
  }

  void take_over(LearnerNode& node) {
    const Handed& handed = *node.handed;
    for (std::size_t i = 0; i < handed.cells.size(); ++i) {
      if (node.has_number(i)) node.own.values.write()[i] = handed.cells[i].value;
    }
    std::vector<std::size_t> masks;
    if (!options_.strict) masks = finite_masks(judgement_, trace_, node);
    if (masks.empty()) {
      node.units = units_for(node, handed);
      return;
    }
    Numerals rest = handed.cells.copy();
    for (const std::size_t i : masks) {
      rest[i] = {.value = -infinity};
      node.own.values.write()[i] = -infinity;
      node.finite_mask = node.finite_mask || is_hidden(node, i);
    }
    // The masks say nothing of how the others are written.
    node.units = units_for(node, {.name = handed.name,
                                  .shape = handed.shape,
                                  .cells = Cells(std::move(rest)),
                                  .precision = handed.precision,
                                  .rounded_to = handed.rounded_to});
  }

  void judge_cells(LearnerNode& node, const Tensor& taint) {
    const std::size_t count = node.handed->cells.size();
    // Where the floor is the unit there is nothing to be stricter about.
    if (node.step && node.units.are_written() && node.units.largest() > node.units.floor) {
      node.exact = values_of(exactness_.due(node));
    }
    bool all_right = true;
    for (std::size_t i = 0; i < count; ++i) {
      const bool blank = node.handed->cells[i].is_blank();
      const bool right = node.has_number(i) && is_right(node, i);
      node.verdicts.push_back(blank ? Verdict::blank : right ? Verdict::correct : Verdict::wrong);
      all_right = all_right && (blank || right);
    }
    if (all_right || !node.step) return;
    // Cells in e-notation have smaller units than the matrix as a whole.
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

  // Of a cell with nothing to round, what comes of the learner's own numbers is as right as the
  // lesson's, as long as that is within a unit.
  static bool is_right(const LearnerNode& node, std::size_t i) {
    const double x = node.own.values[i];
    const double truth = node.truth->values[i];
    if (!within(x, truth, node.units.reach(i))) return false;
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
    const double reach = node.units.reach(i);
    const double low = range.low.values[i];
    const double high = range.high.values[i];
    if (std::isinf(x)) return x == low || x == high;
    const double noise = 1e-12 * std::abs(x);  // of the last bits of the sums
    return x >= low - reach - noise && x <= high + reach + noise;
  }

  void plant(LearnerNode& node, const Tensor& taint) {
    if (node.misshapen) {
      planted_.push_back(node.own);
      std::ranges::fill(planted_.back().values.write(), nothing);
      node.tainted = true;
      return;
    }
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
      planted.values.write()[i] = nothing;
      node.tainted = true;
    }
    planted_.push_back(std::move(planted));
  }

  const Trace& trace_;
  const std::vector<Handed>& handed_;
  const CheckOptions& options_;
  std::vector<OtherMatrices> rounding_;  // of each matrix that was handed in
  Judgement judgement_;
  Exactness exactness_{judgement_, trace_};
  // Each node's own numbers, NaN where they are wrong or carried; empty where none can be.
  std::vector<Tensor> planted_;
  std::map<std::string, std::size_t, std::less<>> index_;
};

}  // namespace

Judgement judge(const Trace& trace, const std::vector<Handed>& handed, const CheckOptions& options,
                std::size_t too_many) {
  return Judge(trace, handed, options).run(too_many);
}

}  // namespace qkv
