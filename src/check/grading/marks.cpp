#include "check/grading/marks.hpp"

#include <random>

namespace qkv::inline check {
namespace {

/// A flag for each cell of a tensor; empty if none is set.
using CellMask = std::vector<bool>;

using Change = std::function<void(const std::string& operand, Tensor& tensor)>;

// Computes the step with changed operands; empty if impossible.
std::optional<Tensor> computed_with(const Trace& trace, const Step& step, const Change& change) {
  std::vector<Tensor> operands;
  for (const std::string& name : step.of) change(name, operands.emplace_back(trace.at(name)));
  Call call = trace.call(step);
  for (std::size_t k = 0; k < operands.size(); ++k) call.inputs[k] = &operands[k];
  return result_of(step, call);
}

// Returns what draws arbitrary numbers from 1 to 2, the same ones each time.
auto arbitrary_numbers(unsigned seed) {
  constexpr auto many = 1'000'003;
  return [bits = std::mt19937(seed)]() mutable { return 1 + double(bits() % many) / many; };
}

/// Returns the cells of a step that are the same for any operands: -inf of a mask, the zeros that
/// follow from it, and those of a head that is switched off. `fixed` holds those of earlier steps.
CellMask fixed_cells(const Trace& trace, const Step& step,
                     const std::map<std::string, CellMask, std::less<>>& fixed) {
  const std::size_t count = step.output.values.size();
  CellMask cells = mapped(step.output.values, [](double x) { return x == -infinity; });
  // What is made of no operand's numbers, such as an id or the sine of 0, is worked out.
  const bool has_operands = !step.of.empty() && !step.operation->shape_only;
  for (const unsigned seed : {1U, 2U}) {
    if (!has_operands || !contains(step.output.values, 0.0)) break;
    auto next = arbitrary_numbers(seed);
    const auto other = computed_with(trace, step, [&](const std::string& name, Tensor& tensor) {
      const auto known = fixed.find(name);
      const std::span<double> values = tensor.values.mutable_span();
      for (std::size_t i = 0; i < values.size(); ++i) {
        const bool stays = known != fixed.end() && known->second[i];
        if (!stays && std::isfinite(values[i])) values[i] = next();
      }
    });
    if (!other || other->values.size() != count) break;
    for (std::size_t i = 0; i < count; ++i) {
      const bool is_zero = step.output.values[i] == 0 && other->values[i] == 0;
      cells[i] = step.output.values[i] == -infinity || (is_zero && (seed == 1 || cells[i]));
    }
  }
  return contains(cells, true) ? cells : CellMask();
}

/// Returns the cells of a step that are 0 because the numbers they are computed from are.
CellMask cells_of_zeros(const Trace& trace, const Step& step) {
  auto next = arbitrary_numbers(3);
  const auto other = computed_with(trace, step, [&](const std::string&, Tensor& tensor) {
    for (double& x : tensor.values.mutable_span()) x = x == 0 || std::isinf(x) ? x : next();
  });
  const std::size_t count = step.output.values.size();
  if (step.of.empty() || !other || other->values.size() != count) return CellMask(count, false);
  return mapped(other->values, [](double x) { return x == 0; });
}

/// Propagates cells that earn no marks through the lesson, as NaN. `own`, the lesson with the
/// learner's numbers, must outlive it.
struct TaintTracker {
  const Trace& own;
  std::map<std::string, Tensor, std::less<>> tainted = {};

  /// Marks cells of a given or step that later steps may not earn marks with.
  void mark_tainted(const std::string& name, const std::function<bool(std::size_t)>& is_void) {
    Tensor& tensor = tainted.try_emplace(name, own.at(name)).first->second;
    const std::span<double> values = tensor.values.mutable_span();
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (is_void(i)) values[i] = std::numeric_limits<double>::quiet_NaN();
    }
  }

  /// Returns, and marks, the cells of a step that depend on marked ones; empty if none does.
  CellMask of(const Step& step) {
    const bool touched = std::ranges::any_of(
        step.of, [&](const std::string& name) { return tainted.contains(name); });
    if (!touched) return {};
    const auto made = computed_with(own, step, [&](const std::string& name, Tensor& tensor) {
      const auto planted = tainted.find(name);
      if (planted != tainted.end()) tensor = planted->second;
    });
    CellMask cells(own.at(step.name).values.size(), true);
    for (std::size_t i = 0; made && i < cells.size(); ++i) cells[i] = std::isnan(made->values[i]);
    if (!contains(cells, true)) return {};
    mark_tainted(step.name, [&](std::size_t i) { return cells[i]; });
    return cells;
  }
};

constexpr double mostly = 2.0 / 3;  // of the cells, beyond what chance gives

bool is_right(Verdict verdict) {
  return verdict == Verdict::correct || verdict == Verdict::rounding;
}

// True if known mistakes explain most wrong cells: half of them surely, or three quarters. Zeros
// are no evidence, and a slip of the pen or a fitted number that is not sure may fit noise by
// chance. Copied numbers may be a neighbour's where fewer than a fifth of the cells are right.
bool is_explained(const StepReport& step) {
  if (step.verdict == Verdict::shape) return !step.mistakes.empty() || step.only_shape_differs;
  std::size_t telling = 0;
  for (std::size_t i = 0; i < step.verdicts.size(); ++i) {
    const double x = step.written.values[i];
    telling += step.verdicts[i] == Verdict::wrong && std::isfinite(x) && x != 0 ? 1 : 0;
  }
  constexpr std::size_t fifth = 5;
  const std::size_t right = step.cells.correct + step.cells.rounding + step.cells.carried;
  const bool may_be_copied = fifth * right >= right + step.cells.wrong + step.cells.undecided;
  std::size_t explained = 0, surely = 0;
  std::set<std::size_t> counted;  // mistakes that explain the same cells count once
  for (const Diagnosis& mistake : step.mistakes) {
    const bool counts = (mistake.kind == CandidateKind::mistake || mistake.sure) &&
                        (!mistake.copies || may_be_copied);
    if (!counts || !counted.insert(mistake.first).second) continue;
    explained += mistake.cells;
    surely += mistake.sure ? mistake.cells : 0;
  }
  return telling > 0 && (2 * surely >= step.cells.wrong || 4 * explained >= 3 * step.cells.wrong);
}

// A zero that only follows from the learner's own zeros earns no marks.
void add_zeros_of_zeros(const StepReport& report, const Trace& own, const Step& step,
                        const Trace& lesson, CellMask& unearned) {
  const auto follows = [&](std::size_t i) {
    const Verdict verdict = report.verdicts[i];
    return report.written.values[i] == 0 &&
           (verdict == Verdict::rounding || verdict == Verdict::carried);
  };
  unearned.resize(step.output.values.size(), false);
  const std::vector<std::size_t> zeros = places_where(report.verdicts.size(), follows);
  if (zeros.empty()) return;
  const CellMask own_zeros = cells_of_zeros(own, step);
  const CellMask expected_zeros = cells_of_zeros(lesson, lesson.step_at(step.name));
  for (const std::size_t i : zeros) {
    if (own_zeros[i] && !expected_zeros[i]) unearned[i] = true;
  }
}

}  // namespace

Rubric::Rubric(const Lesson& lesson, const Trace& trace, const CellShares& shares,
               const AskedCells& asked)
    : trace_(&trace), shares_(shares) {
  std::map<std::string, CellMask, std::less<>> fixed;
  for (const Step& step : trace.steps) {
    StepWorth worth;
    worth.is_fixed = fixed_cells(trace, step, fixed);
    if (!worth.is_fixed.empty()) fixed.emplace(step.name, worth.is_fixed);
    const auto counts = [&](std::size_t i) { return worth.counts(i); };
    const auto counted = [&] { return places_where(step.output.values.size(), counts).size(); };
    const auto whole = static_cast<double>(counted());
    const auto part = asked.find(step.name);
    if (part != asked.end()) worth.is_asked = part->second;
    if (part == asked.end() && !asked.empty()) {
      worth.is_asked.assign(step.output.values.size(), false);
    }
    worth.cells = counted();
    const std::optional<double> marks = lesson.texts[step.number - 1].marks;
    const auto cells = static_cast<double>(worth.cells);
    worth.marks = worth.cells == 0 ? 0 : marks.value_or(whole) * cells / whole;
    worths_.push_back(std::move(worth));
  }
}

Marks Rubric::nothing() const {
  Marks marks;
  for (const StepWorth& worth : worths_) {
    marks.steps.push_back({.marks = 0, .of = worth.marks});
    marks.total.of += worth.marks;
  }
  return marks;
}

// Counts how many attempted cells are right, and how many would be if the learner's numbers were in
// these cells in random order: by the lesson, or by those that follow from the learner's own.
Rubric::ChanceLevel Rubric::chance_level_of(const StepReport& report, const StepWorth& worth,
                                            std::span<const double> from_yours) const {
  ChanceLevel luck;
  std::vector<std::size_t> tried;
  std::vector<double> numbers;
  for (std::size_t i = 0; i < report.verdicts.size(); ++i) {
    if (report.verdicts[i] == Verdict::blank || !worth.counts(i)) continue;
    tried.push_back(i);
    const double x = report.written.values[i];
    if (!std::isnan(x)) numbers.push_back(x);
    const bool right = is_right(report.verdicts[i]) || report.verdicts[i] == Verdict::carried;
    luck.right += right ? 1 : 0;
  }
  luck.tried = static_cast<double>(tried.size());
  if (numbers.empty()) return luck;
  std::ranges::sort(numbers);
  const Tensor& truth = trace_->at(report.step);
  const auto share_near = [&](double right) {  // of the numbers
    const auto low = std::ranges::lower_bound(numbers, right - report.unit);
    const auto high = std::ranges::upper_bound(numbers, right + report.unit);
    return static_cast<double>(high - low) / static_cast<double>(numbers.size());
  };
  for (const std::size_t i : tried) {
    const double right = truth.values[i];
    const double carried = from_yours.empty() ? right : from_yours[i];
    const bool is_other = std::abs(carried - right) > 2 * report.unit;  // not if it is nan
    luck.expected += std::min(1.0, share_near(right) + (is_other ? share_near(carried) : 0));
  }
  return luck;
}

// True if no number but 0 was written where it is asked for, and some are wrong: the others are
// right by chance. A worksheet's own numbers tell nothing.
bool Rubric::has_only_zeros(const CheckReport& report) const {
  if (!contains(report.steps, Verdict::wrong, &StepReport::verdict)) return false;
  for (const StepReport& step : report.steps) {
    const auto place = trace_->step_names.place(step.step);  // none of a given
    for (std::size_t i = 0; place && i < step.verdicts.size(); ++i) {
      const double x = step.written.values[i];
      const bool is_written = worths_[*place].asks(i) && step.verdicts[i] != Verdict::blank;
      if (is_written && std::isfinite(x) && x != 0) return false;
    }
  }
  return true;
}

// What an unexplained wrong step does to the marks of dependent steps and to its own. They are lost
// if fewer than a fifth of the attempted cells is right. They are also lost if no more cells are
// right than by chance, unless the sheet as a whole is mostly right: it may have a slip in a step
// of a few cells. What follows from unexplained cells tells nothing of its own.
Rubric::Ungraded Rubric::ungraded_in(const StepReport& report, std::size_t step,
                                     const CellMask& unexplained, const SheetLook& sheet) const {
  constexpr double hardly = 0.25;
  if (sheet.only_zeros) return Ungraded::all;
  if (is_explained(report)) return Ungraded::nothing;
  const bool is_lucky = report.verdict == Verdict::wrong && sheet.beyond < hardly &&
                        chance_level_of(report, worths_[step]).beyond() < mostly;
  if (sheet.by_luck[step] || is_lucky) return Ungraded::all;
  if (report.verdict == Verdict::shape) return Ungraded::what_follows;
  StepWorth rest = worths_[step];
  rest.is_fixed.resize(std::max(rest.is_fixed.size(), unexplained.size()), false);
  for (std::size_t i = 0; i < unexplained.size(); ++i)
    rest.is_fixed[i] = rest.is_fixed[i] || unexplained[i];
  const ChanceLevel luck = chance_level_of(report, rest);
  if (luck.is_no_more() && sheet.beyond < mostly) return Ungraded::all;
  return 5 * luck.right < luck.tried ? Ungraded::what_follows : Ungraded::nothing;
}

void Rubric::add_step(const StepReport& report, std::size_t step, const CellMask& unearned,
                      const CellMask& unexplained, Marks& marks) const {
  const StepWorth& worth = worths_[step];
  const auto has = [](const CellMask& mask, std::size_t i) { return !mask.empty() && mask[i]; };
  double cells = 0;
  double doubtful = 0;
  auto of = static_cast<double>(worth.cells);
  for (std::size_t i = 0; i < report.verdicts.size(); ++i) {
    const Verdict verdict = report.verdicts[i];
    if (!worth.counts(i) && worth.asks(i) && verdict == Verdict::wrong) of += 1;
    if (!worth.counts(i) || has(unearned, i)) continue;
    const double carried = verdict == Verdict::carried ? shares_.carried : 0;
    (has(unexplained, i) ? doubtful : cells) += is_right(verdict) ? 1 : carried;
  }
  if (worth.cells == 0) return;
  const double earned = worth.marks * (cells + shares_.unexplained * doubtful) / of;
  marks.steps[step].marks = earned;
  marks.total.marks += earned;
  marks.taken += worth.marks * (1 - shares_.unexplained) * doubtful / of;
}

// Finds submitted steps that depend on no other submitted step. Their cells together show whether
// this is work on the lesson's own numbers. If it looks like a neighbour's, whose small whole
// numbers are often right by chance, only mostly right steps count.
std::vector<bool> Rubric::roots_at_chance(const CheckReport& report) const {
  std::vector<bool> is_root(worths_.size(), false);
  std::vector<bool> rests(worths_.size(), false);
  ChanceLevel all;
  for (std::size_t s = 0; s < worths_.size(); ++s) {
    const Step& step = trace_->steps[s];
    const StepReport* submitted = report.find(step.name);
    for (const std::string& name : step.of) {
      const auto place = trace_->step_names.place(name);
      rests[s] = rests[s] || (place && rests[*place]);
    }
    is_root[s] = submitted != nullptr && !rests[s];
    rests[s] = rests[s] || submitted != nullptr;
    if (!is_root[s]) continue;
    const ChanceLevel luck = chance_level_of(*submitted, worths_[s]);
    is_root[s] = luck.is_much_wrong();
    all.add(luck);
  }
  constexpr double own_work = 0.4;
  return all.beyond() < own_work ? is_root : std::vector<bool>(worths_.size(), false);
}

// Returns the share of all steps' cells that are right, or follow, beyond what chance gives.
double Rubric::beyond_chance(const CheckReport& report) const {
  // Only wrong steps lose marks by it; a right sheet need not be worked out once more.
  if (!contains(report.steps, Verdict::wrong, &StepReport::verdict)) return 1;
  ChanceLevel all;
  for (std::size_t s = 0; s < worths_.size(); ++s) {
    const StepReport* submitted = report.find(trace_->steps[s].name);
    if (submitted == nullptr) continue;
    const auto followed = result_of(trace_->steps[s], report.own.call(trace_->steps[s]));
    std::span<const double> from_yours;
    if (followed && followed->values.size() == submitted->verdicts.size())
      from_yours = followed->values;
    all.add(chance_level_of(*submitted, worths_[s], from_yours));
  }
  return all.beyond();
}

bool Rubric::has_part(const CheckReport& report) const {
  std::size_t asked = 0, right = 0;
  for (std::size_t s = 0; s < worths_.size(); ++s) {
    const StepReport* step = report.find(trace_->steps[s].name);
    for (std::size_t i = 0; i < worths_[s].is_asked.size(); ++i) {
      if (!worths_[s].is_asked[i]) continue;
      ++asked;
      right += step && i < step->verdicts.size() && step->verdicts[i] <= Verdict::rounding ? 1 : 0;
    }
  }
  return asked > 0 && right == asked;
}

Marks Rubric::of(const CheckReport& report) const {
  Marks marks = nothing();
  const SheetLook sheet{.beyond = beyond_chance(report),
                        .by_luck = roots_at_chance(report),
                        .only_zeros = has_only_zeros(report)};
  const bool is_all_right = report.outcome == Outcome::correct || has_part(report);
  TaintTracker of_changed{report.own};
  TaintTracker of_unexplained{report.own};
  for (const Given& given : trace_->givens) {
    const StepReport* changed = report.find(given.name);
    if (changed == nullptr) continue;
    const bool all = changed->verdicts.empty();  // of a wrong shape
    of_changed.mark_tainted(
        given.name, [&](std::size_t i) { return all || changed->verdicts[i] == Verdict::wrong; });
    marks.changed.push_back(given.name);
  }
  for (const Step& step : report.own.steps) {  // a convention may add a step
    CellMask unearned = of_changed.of(step);
    CellMask unexplained = of_unexplained.of(step);
    const StepReport* submitted = report.find(step.name);
    const auto place = trace_->step_names.place(step.name);
    if (submitted == nullptr || !place) continue;
    const Ungraded worthless = ungraded_in(*submitted, *place, unexplained, sheet);
    if (worthless != Ungraded::nothing) {
      of_unexplained.mark_tainted(step.name, [](std::size_t) { return true; });
      marks.unexplained.push_back(step.name);
    }
    if (worthless == Ungraded::all) unexplained.assign(step.output.values.size(), true);
    if (!is_all_right) add_zeros_of_zeros(*submitted, report.own, step, *trace_, unearned);
    add_step(*submitted, *place, unearned, unexplained, marks);
  }
  return marks;
}

}  // namespace qkv::inline check
