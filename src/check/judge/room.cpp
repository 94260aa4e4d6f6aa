#include "check/judge/room.hpp"

#include "check/judge/conventions.hpp"

namespace qkv::inline check {
namespace {

// A given is not rounded: a copied number is the lesson's or the learner's.
Range range_of_given(const LearnerNode& node) {
  Range range{*node.truth, *node.truth};
  if (!node.submitted) return range;
  for (std::size_t i = 0; i < range.low.values.size(); ++i) {
    if (!node.has_number(i)) continue;
    const double own = node.own.values[i];
    const bool wrong = node.verdicts[i] == Verdict::wrong;
    range.low.values.mutable_span()[i] = wrong ? own : std::min(own, range.low.values[i]);
    range.high.values.mutable_span()[i] = wrong ? own : std::max(own, range.high.values[i]);
  }
  return range;
}

using IsNeeded = std::function<bool(std::size_t cell)>;

// Bounds each needed cell by itself; the others are unbounded.
Range slow_range(const LearnerNode& node, const Call& call, std::span<const Bounds> bounds,
                 const IsNeeded& is_needed) {
  Range result{node.from_yours, node.from_yours};
  const std::span<double> low = result.low.values.mutable_span();
  const std::span<double> high = result.high.values.mutable_span();
  constexpr std::size_t operations = 64;
  each_cell<Interval>({{.call = &call, .output = &node.from_yours}, bounds}, operations,
                      [&](const Cell<Interval>& cell, std::size_t i) {
                        const Interval range = is_needed && !is_needed(i)
                                                   ? Interval{-infinity, infinity}
                                                   : node.step->operation->cell.interval(cell);
                        low[i] = std::isnan(range.low) ? -infinity : range.low;
                        high[i] = std::isnan(range.high) ? infinity : range.high;
                      });
  return result;
}

constexpr std::size_t trial_count = 32;

/// Moves numbers within their unit, differently in each trial, and the same way each time: all up,
/// all down, all towards 0, all away from 0, else at random.
struct Mover {
  std::uint64_t trial, node;

  double operator()(double x, double unit, std::size_t cell) const {
    return std::isfinite(x) ? x + share(x, cell) * unit : x;
  }

  // From -1 to 1.
  double share(double x, std::size_t cell) const {
    const double sign = x > 0 ? 1 : x < 0 ? -1 : 0;
    if (trial < 2) return trial == 0 ? 1 : -1;
    if (trial < 4) return trial == 2 ? -sign : sign;
    return at_random(cell);
  }

  // SplitMix64 (Steele, Lea and Flood 2014): each number depends on its place alone, not on order.
  double at_random(std::uint64_t cell) const {
    constexpr std::uint64_t step = 0x9e3779b97f4a7c15;
    std::uint64_t z = ((trial << 52) ^ (node << 36) ^ cell) * step + step;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    z ^= z >> 31;
    return static_cast<double>(z >> 11) * 0x1p-52 - 1;
  }
};

// Bounds through many steps allow everything, and cost more than all trials.
constexpr std::size_t most_bounded_cells = std::size_t{1} << 14;

Range lesser(Range a, const Range& b) {
  const std::span<double> low = a.low.values.mutable_span();
  const std::span<double> high = a.high.values.mutable_span();
  for (std::size_t i = 0; i < low.size(); ++i) {
    low[i] = std::max(low[i], b.low.values[i]);
    high[i] = std::min(high[i], b.high.values[i]);
  }
  return a;
}

}  // namespace

using IsEnough = std::function<bool(std::size_t cell, double move)>;

/// The steps that lead to a step through missing ones only, and how rounding moves them.
class Room::Stretch {
 public:
  Stretch(Room& room, const MatrixTolerance& units, Operands operands, Steps cuts = {})
      : room_(room), units_(units), operands_(operands), cuts_(std::move(cuts)) {}

  /// Returns the missing steps, with numbers that may be rounded.
  Steps missing(const LearnerNode& node) {
    Steps found;
    std::vector<std::size_t> open(node.inputs);
    while (!open.empty()) {
      const std::size_t index = open.back();
      open.pop_back();
      if (found.contains(index) || !is_missing(index)) continue;
      found.insert(index);
      open.insert(open.end(), node_at(index).inputs.begin(), node_at(index).inputs.end());
    }
    return found;
  }

  /// Returns the bounds of the needed cells, or of all, for all numbers within their unit.
  Range bounds(const LearnerNode& node, const IsNeeded& is_needed = {}) {
    const Call call = call_with(
        node, room_.trace_, [&](std::size_t k) -> const Tensor& { return numbers(node_at(k)); });
    std::vector<Bounds> inputs;
    for (const std::size_t input : node.inputs) {
      const Range& range = bounds_of(input);
      inputs.push_back({&range.low, &range.high});
    }
    const Operation& operation = *node.step->operation;
    const Tensor& result = operands_ == Operands::own ? node.from_yours : *node.truth;
    constexpr std::size_t many_cells = 2048;
    if (operation.range && result.values.size() >= many_cells) {
      if (auto range = operation.range(call, inputs, result)) return std::move(*range);
    }
    return slow_range(node, call, inputs, is_needed);
  }

  /// Returns the bounds that the trials show around the computed numbers, wider than any move that
  /// `is_enough`: it ends them. Matrices with the same rounding share the trials of earlier steps,
  /// if memory allows.
  Range trials(const LearnerNode& node, const IsEnough& is_enough = {}) {
    const Tensor& middle = operands_ == Operands::own ? node.from_yours : *node.truth;
    std::vector<double> squares(middle.values.size());
    std::vector<double> largest(squares.size());
    constexpr std::size_t most_kept = std::size_t{1} << 19;
    std::vector<Tensors>& all = room_.trials_[rounding()];
    all.resize(trial_count);
    bool goes_on = true;
    for (std::size_t trial = 0; goes_on && trial < trial_count; ++trial) {
      before_cuts_ = &all[trial];
      after_cuts_.clear();
      const Tensor result = computed(node, trial);
      std::size_t kept = 0;
      for (const auto& [index, tensor] : all[trial]) kept += tensor.values.size();
      if (kept > most_kept) all[trial].clear();
      for (std::size_t i = 0; i < squares.size(); ++i) {
        const double x = result.values[i];
        const double y = middle.values[i];
        const double move = x == y || (std::isnan(x) && std::isnan(y)) ? 0 : std::abs(x - y);
        squares[i] += move * move;
        largest[i] = std::isnan(move) ? infinity : std::max(largest[i], move);
        goes_on = goes_on && !(is_enough && is_enough(i, largest[i]));
      }
    }
    constexpr double spreads = 4;
    Range range{middle, middle};
    const std::span<double> low = range.low.values.mutable_span();
    const std::span<double> high = range.high.values.mutable_span();
    for (std::size_t i = 0; i < low.size(); ++i) {
      const double spread = std::sqrt(squares[i] / trial_count);
      const double effect = std::isnan(spread) ? infinity : std::max(spreads * spread, largest[i]);
      if (!std::isfinite(low[i])) continue;
      low[i] -= effect;
      high[i] += effect;
    }
    return range;
  }

 private:
  const LearnerNode& node_at(std::size_t index) const { return room_.judgement_.nodes[index]; }
  const Tensor& numbers(const LearnerNode& node) const {
    return operands_ == Operands::own ? node.own : *node.truth;
  }
  // Returns the exact cells of a matrix; none for a program, which rounds all its results to its
  // type.
  std::span<const Decimal> exact(std::size_t index) {
    if (operands_ == Operands::lessons || !units_.are_written()) return {};
    return room_.exactness_.entering(index, {units_.decimals, units_.significant});
  }

  bool is_missing(std::size_t index) {
    const LearnerNode& node = node_at(index);
    if (!node.step || node.inputs.empty() || cuts_.contains(index) ||
        (node.submitted && std::ranges::all_of(node.submitted->cells, &Numeral::is_number)))
      return false;
    const std::span<const Decimal> cells = exact(index);
    return cells.empty() ||
           !std::ranges::all_of(cells, [](const Decimal& x) { return x.is_exact(); });
  }

  // The unit of each number, the same in every trial: as submitted, or of an intermediate number.
  const std::vector<double>& moves_of(std::size_t index) {
    std::vector<double>& moves = moves_[index];
    if (!moves.empty()) return moves;
    const LearnerNode& node = node_at(index);
    const Tensor& own = numbers(node);
    const double intermediate = node.inputs.empty() ? 0 : units_.unsubmitted(own.values);
    const bool is_exact = units_.are_written() || units_.precision == Precision::float64;
    const auto error = is_exact || node.has_lessons_inputs
                           ? nullptr
                           : node.step->operation->single_precision_error;
    const bool may_cancel = units_.precision == Precision::float32 && !node.has_lessons_inputs;
    const auto cancels = may_cancel ? node.step->operation->cancellation_error : nullptr;
    const Call call = call_with(
        node, room_.trace_, [&](std::size_t k) -> const Tensor& { return numbers(node_at(k)); });
    for (std::size_t i = 0; i < own.values.size(); ++i) {
      moves.push_back(node.has_number(i) ? node.units.of(i)
                      : error            ? std::max(intermediate, error(call, own, i))
                      : cancels          ? intermediate + cancels(call, i)
                                         : units_.unsubmitted_cell(intermediate, own.values[i]));
    }
    return moves;
  }

  const Range& bounds_of(std::size_t index) {
    const auto found = bounds_.find(index);
    if (found != bounds_.end()) return found->second;
    const LearnerNode& node = node_at(index);
    const bool lessons = operands_ == Operands::lessons;
    Range range = node.step ? bounds_of_step(index)
                  : lessons ? Range{*node.truth, *node.truth}
                            : range_of_given(node);
    return bounds_.emplace(index, std::move(range)).first->second;
  }

  Range bounds_of_step(std::size_t index) {
    const LearnerNode& node = node_at(index);
    const Tensor& own = numbers(node);
    const bool is_computed = is_missing(index) && !node.has_lessons_inputs;
    Range range = is_computed ? bounds(node) : Range{own, own};
    const std::span<const Decimal> exact_cells = exact(index);
    const std::vector<double>& moves = moves_of(index);
    const std::span<double> low = range.low.values.mutable_span();
    const std::span<double> high = range.high.values.mutable_span();
    for (std::size_t i = 0; i < low.size(); ++i) {
      if (!exact_cells.empty() && exact_cells[i].is_exact()) {
        low[i] = high[i] = exact_cells[i].value();
        continue;
      }
      if (node.has_number(i)) low[i] = high[i] = own.values[i];
      low[i] = std::max(low[i] - moves[i], std::min(low[i], node.step->operation->least));
      high[i] += moves[i];
    }
    return range;
  }

  // A given was copied: rounded, the learner may have used either number.
  Tensor moved_given(std::size_t index, std::size_t trial) const {
    const LearnerNode& node = node_at(index);
    Tensor tensor = numbers(node);
    const Mover move{trial, index};
    const std::span<double> cells = tensor.values.mutable_span();
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const double other = std::as_const(node.truth->values)[i];
      if (!node.has_number(i) || node.verdicts[i] == Verdict::wrong || cells[i] == other) continue;
      const double middle = (cells[i] + other) / 2;
      cells[i] = move(middle, (cells[i] - other) / 2, i);
    }
    return tensor;
  }

  Tensor moved_step(std::size_t index, std::size_t trial) {
    const LearnerNode& node = node_at(index);
    const Tensor& own = numbers(node);
    const bool is_computed = is_missing(index) && !node.has_lessons_inputs;
    Tensor tensor = is_computed ? computed(node, trial) : own;
    if (node.inputs.empty()) return tensor;
    const std::span<const Decimal> exact_cells = exact(index);
    const std::vector<double>& moves = moves_of(index);
    const std::span<double> cells = tensor.values.mutable_span();
    const double least = node.step->operation->least;
    parallel_for(cells.size(), 4096, 16, [&](std::size_t begin, std::size_t end) {
      const Mover move{trial, index};
      for (std::size_t i = begin; i < end; ++i) {
        if (!exact_cells.empty() && exact_cells[i].is_exact()) {
          cells[i] = exact_cells[i].value();
          continue;
        }
        const double from = node.has_number(i) ? std::as_const(own.values)[i] : cells[i];
        cells[i] = std::max(move(from, moves[i], i), std::min(from, least));
      }
    });
    return tensor;
  }

  const Tensor& moved(std::size_t index, std::size_t trial) {
    const LearnerNode& node = node_at(index);
    const bool may_move = node.step || (node.submitted && operands_ == Operands::own);
    if (!may_move) return numbers(node);
    const bool is_shared = cuts_.empty() || index < *cuts_.begin();
    Tensors& known = is_shared ? *before_cuts_ : after_cuts_;
    const auto found = known.find(index);
    if (found != known.end()) return found->second;
    Tensor tensor = node.step ? moved_step(index, trial) : moved_given(index, trial);
    return known.emplace(index, std::move(tensor)).first->second;
  }

  Tensor computed(const LearnerNode& node, std::size_t trial) {
    const Call call = call_with(node, room_.trace_,
                                [&](std::size_t k) -> const Tensor& { return moved(k, trial); });
    return result_of(*node.step, call).value_or(numbers(node));
  }

  Rounding rounding() const {
    const bool written = units_.are_written();
    return {written,
            written ? units_.unsubmitted({}) : units_.intermediate.value_or(0),
            units_.precision,
            units_.decimals,
            units_.significant,
            operands_};
  }

  Room& room_;
  const MatrixTolerance& units_;
  const Operands operands_;
  const Steps cuts_;  // missing steps that count as submitted
  std::map<std::size_t, Range> bounds_;
  std::map<std::size_t, std::vector<double>> moves_;
  Tensors* before_cuts_ = nullptr;  // the moved numbers of a trial, which all stretches share
  Tensors after_cuts_;
};

bool is_within(const LearnerNode& node, const Range& range, std::size_t i) {
  if (!node.has_number(i) || node.is_exact(i)) return false;
  const double x = node.own.values[i];
  const double low = range.low.values[i];
  const double high = range.high.values[i];
  if (std::isinf(x)) return x == low || x == high;
  const double tolerance = node.units.tolerance(i);
  const double noise = 1e-12 * std::abs(x);  // of the sums' last bits
  return x >= low - tolerance - noise && x <= high + tolerance + noise;
}

Range Room::of_step(const LearnerNode& node, const MatrixTolerance& units, Operands operands) {
  if (node.inputs.empty() || node.has_lessons_inputs) {  // no rounding
    return {node.from_yours, node.from_yours};
  }
  Stretch stretch(*this, units, operands);
  const Steps missing = stretch.missing(node);
  const auto is_wrong = [&](std::size_t i) { return node.verdicts[i] == Verdict::wrong; };
  if (missing.empty()) return stretch.bounds(node, is_wrong);
  std::size_t cells = node.own.values.size();
  for (const std::size_t index : missing) cells += judgement_.nodes[index].own.values.size();
  Range range = stretch.trials(node);
  constexpr std::size_t few_cells = 2048;  // in many, bounds only matter near what the trials show
  const auto is_open = [&](std::size_t i) {
    return is_wrong(i) && (cells <= few_cells || is_within(node, range, i));
  };
  std::size_t first_open = 0;
  while (first_open < node.verdicts.size() && !is_open(first_open)) ++first_open;
  if (cells > most_bounded_cells || first_open == node.verdicts.size()) return range;
  return lesser(range, stretch.bounds(node, is_open));
}

bool is_too_wide(double room, double unit, double typical) {
  constexpr double most_units = 3 * (1 + 1e-6);  // inclusive
  constexpr double most_share = 0.1;
  return room > most_units * unit && room > most_share * typical;
}

std::vector<double> typical_numbers(const LearnerNode& node) {
  std::vector<double> typical;
  for (std::size_t m = 0; m < node.truth->matrices(); ++m) {
    double squares = 0, count = 0;
    for (const double x : node.truth->cells(m)) {
      squares += std::isfinite(x) ? x * x : 0;
      count += std::isfinite(x) ? 1 : 0;
    }
    typical.push_back(std::sqrt(squares / std::max(1.0, count)));
  }
  return typical;
}

// Tries each missing step alone, the nearest first, then all missing operands together. If even
// those leave the room too wide, they still show whether the cell follows from them as they stand.
std::vector<std::string> Room::deciding_steps(const LearnerNode& node) {
  const std::vector<double> typical = typical_numbers(node);
  const std::size_t size = node.own.values.size() / typical.size();
  const auto is_open = [&](std::size_t i, double move) {
    const double unit = node.units.tolerance(i);
    return node.verdicts[i] == Verdict::undecided &&
           is_too_wide(move + unit, unit, typical[i / size]);
  };
  const auto decides = [&](const Steps& cuts) {
    Stretch stretch(*this, node.units, Operands::own, cuts);
    const bool is_bounded = stretch.missing(node).empty();
    const Range range = is_bounded ? stretch.bounds(node) : stretch.trials(node, is_open);
    for (std::size_t i = 0; i < node.verdicts.size(); ++i) {
      const double middle = node.from_yours.values[i];
      if (is_open(i, std::max(middle - range.low.values[i], range.high.values[i] - middle)))
        return false;
    }
    return true;
  };
  const auto names_of = [&](const Steps& cuts) {
    return mapped<std::string>(
        cuts, [&](std::size_t index) { return lesson_step_of(judgement_.nodes[index].name); });
  };
  const Steps missing = Stretch(*this, node.units, Operands::own).missing(node);
  constexpr std::size_t most_tries = 12;
  const std::vector<std::size_t> nearest(missing.rbegin(), missing.rend());
  for (std::size_t k = 0; k < std::min(most_tries, nearest.size()); ++k) {
    if (decides({nearest[k]})) return names_of({nearest[k]});
  }
  Steps operands;
  for (const std::size_t input : node.inputs)
    if (missing.contains(input)) operands.insert(input);
  if (!decides(operands)) return names_of(operands);
  for (const std::size_t index : Steps(operands)) {
    Steps fewer = operands;
    fewer.erase(index);
    if (!fewer.empty() && decides(fewer)) operands = std::move(fewer);
  }
  return names_of(operands);
}

}  // namespace qkv::inline check
