#include "check/diagnose/diagnosis.hpp"

#include "check/diagnose/candidates.hpp"
#include "check/judge/conventions.hpp"

namespace qkv::inline check {
namespace {

// The operations of a step: more than a number for each cell, where products are added up along
// the axes that the result does not have; and some for a step of any size.
double work_of(const Call& call, const Step& step) {
  constexpr double any_step = 3000;
  constexpr double any_cell = 8;
  const Form form = step.operation->form(call);
  const Tensor& first = call.inputs.empty() ? step.output : *call.inputs[0];
  double added = 1;
  if (!form.operands.empty()) {
    const auto [row, column] = axis_names(form.operands[0]);
    const auto [left, right] = axis_names(form.output);
    if (row != left && row != right) added *= static_cast<double>(first.rows());
    if (column != left && column != right) added *= static_cast<double>(first.columns());
  }
  constexpr double at_once = 8;  // of large products, in each operation's time
  if (added > 2 * at_once) added /= at_once;
  return any_step + static_cast<double>(step.output.values.size()) * (any_cell + added);
}

// The cells of a submitted matrix to compare.
struct Cellwise {
  const LearnerNode& node;
  std::vector<std::size_t> cells;  // of the block

  double written(std::size_t i) const { return node.submitted->cells[i].value; }
  double right(std::size_t i) const { return std::as_const(node.from_yours.values)[i]; }
  bool is_wrong(std::size_t i) const { return node.verdicts[i] == Verdict::wrong; }
  // Right for any numbers: masked, or 0 because of that.
  bool is_hidden(std::size_t i) const { return right(i) == -infinity || right(i) == 0; }
  bool is_evidence(std::size_t i) const {
    return node.verdicts[i] != Verdict::blank && (is_wrong(i) || !is_hidden(i));
  }
  bool are_near(std::size_t i, double x) const {
    return written(i) == x || std::abs(written(i) - x) <= node.units.tolerance(i);
  }
  double factor() const {
    return nearest_factor(mapped(cells, [&](std::size_t i) { return written(i); }),
                          mapped(cells, [&](std::size_t i) { return right(i); }));
  }
};

std::vector<IndexRange> bounding_block(const Cellwise& all, const Shape& shape) {
  std::vector<IndexRange> block(shape.size(), {std::size_t(-1), 0});
  for (std::size_t i = 0; i < all.node.verdicts.size(); ++i) {
    if (!all.is_wrong(i)) continue;
    std::size_t rest = i;
    for (std::size_t a = shape.size(); a-- > 0; rest /= shape[a]) {
      block[a].from = std::min(block[a].from, rest % shape[a]);
      block[a].to = std::max(block[a].to, rest % shape[a]);
    }
  }
  return block;
}

// Returns the mean error of each column.
std::vector<double> offsets_of(const Cellwise& block, std::size_t columns) {
  std::vector<double> sums(columns);
  std::vector<double> counts(columns);
  for (std::size_t n = 0; n < block.cells.size(); ++n) {
    const std::size_t i = block.cells[n];
    const double gap = block.written(i) - block.right(i);
    if (!std::isfinite(gap)) continue;
    sums[n % columns] += gap;
    ++counts[n % columns];
  }
  for (std::size_t j = 0; j < columns; ++j) sums[j] /= std::max(1.0, counts[j]);
  return sums;
}

// What the cells of a block may have in common, and how many must be wrong to show it.
struct Pattern {
  Region::What what;
  std::size_t least;
  std::function<bool(std::size_t cell)> holds;
};

// Finds the first pattern that holds for all cells of the block that are evidence.
void tell_what(const Cellwise& block, Region& region) {
  using What = Region::What;
  const auto first = std::ranges::find_if(block.cells, [&](auto i) { return block.is_wrong(i); });
  const double constant = block.written(*first);
  const double factor = block.factor();
  const std::size_t columns = region.axes.back().size();
  const std::vector<double> errors = offsets_of(block, columns);
  const auto error_at = [&](std::size_t i) {
    return errors[i % block.node.own.columns() - region.axes.back().from];
  };
  std::vector<double> offset = errors;
  if (const auto [low, high] = std::ranges::minmax(errors);
      high - low <= 2 * block.node.units.largest()) {  // one number if all are equal
    offset = {std::accumulate(errors.begin(), errors.end(), 0.0) / double(errors.size())};
  }
  // The columns of a single row always have an error each.
  const bool may_be_offset = offset.size() == 1 || block.cells.size() > columns;
  const Pattern patterns[] = {
      {What::zero, 0, [&](std::size_t i) { return block.written(i) == 0; }},
      {What::nan, 0,
       [&](std::size_t i) { return std::isnan(block.written(i)) && block.node.has_number(i); }},
      {What::constant, 3, [&](std::size_t i) { return block.written(i) == constant; }},
      {What::multiple, 3,
       [&](std::size_t i) { return factor != 0 && block.are_near(i, factor * block.right(i)); }},
      {What::offset, 3,
       [&](std::size_t i) {
         return may_be_offset && block.are_near(i, block.right(i) + error_at(i));
       }},
  };
  const auto* found = std::ranges::find_if(patterns, [&](const Pattern& one) {
    return region.wrong >= one.least && std::ranges::all_of(block.cells, [&](std::size_t i) {
             return !block.is_evidence(i) || one.holds(i);
           });
  });
  if (found == std::end(patterns)) return;
  region.what = found->what;
  if (region.what == What::multiple) region.factor = factor;
  if (region.what == What::offset) region.offset = offset;
}

Mismatch mismatch_of(const LearnerNode& node, std::size_t index) {
  const SubmittedArray& submitted = node.submitted ? *node.submitted : *node.wrong_shape_array;
  Mismatch mismatch{.shape = submitted.shape,
                    .step = index,
                    .right = node.submitted ? node.from_yours.values : std::span<const double>(),
                    .exact = node.exact,
                    .floor = node.units.floor,
                    .are_shares = node.step && node.step->operation->makes_weights,
                    .is_of_program = submitted.precision != Precision::digits};
  for (std::size_t i = 0; i < submitted.cells.size(); ++i) {
    const Numeral& cell = submitted.cells[i];
    mismatch.written.push_back(cell.value);
    // A wild number does not excuse others, but has no more digits itself.
    const double most = node.units.basis == ToleranceBasis::whole ? half_of_one : infinity;
    const double own = std::min(most, rule_of(submitted.precision).floor * std::abs(cell.value));
    mismatch.tolerance.push_back(std::max(node.units.tolerance(i), std::isfinite(own) ? own : 0));
    constexpr double hiding = -1000;  // what a program writes for -inf
    const bool may_hide = node.step && node.step->operation->masks_cells && cell.value <= hiding;
    mismatch.is_masked.push_back(node.submitted && (may_hide || node.own.values[i] == -infinity));
    const bool wrong = node.submitted ? node.verdicts[i] == Verdict::wrong : !cell.is_blank();
    mismatch.wrong.push_back(wrong && cell.bad_text == 0);  // no cause needed
  }
  return mismatch;
}

// True if every attempted cell is one of these numbers, rounded to a multiple of `unit`. Zeros
// alone show no rounding unless `any`.
bool is_rounded_to(double unit, std::span<const double> right, const Mismatch& mismatch, bool any) {
  constexpr double slack = 1e-9;
  for (std::size_t i = 0; i < mismatch.written.size(); ++i) {
    const double x = mismatch.written[i];
    if (std::isnan(x) ? !mismatch.wrong[i] : x == right[i]) continue;
    const bool is_multiple = std::abs(x / unit - std::round(x / unit)) <= slack;
    if (!is_multiple || !(std::abs(x - right[i]) <= unit / 2 + slack)) return false;
    any = any || x != 0;
  }
  return any;
}

Diagnosis rounded_to(double unit, const LearnerNode& node) {
  return {.id = "slip.too-few-decimals",
          .says = unit == 1 ? "The numbers were rounded to whole numbers."
                            : "The numbers were rounded to one decimal.",
          .hint = "Keep more decimals.",
          .cells = node.wrong_cells()};
}

// Numbers that were rounded to whole ones or to one decimal need no other explanation, unless the
// learner has more decimals elsewhere. Zeros beside numbers of one decimal were rounded, too.
std::optional<Diagnosis> too_few_decimals(const LearnerNode& node, const Mismatch& mismatch) {
  const bool is_beside_decimals = node.units.basis == ToleranceBasis::other_matrices;
  const int decimals = is_beside_decimals ? node.units.decimals : most_decimals(*node.submitted);
  for (const double unit : {1.0, 0.1}) {
    if (decimals > (unit == 1 ? 0 : 1)) continue;
    for (const Tensor* right : {node.truth, &node.from_yours}) {
      if (!is_rounded_to(unit, right->values, mismatch, is_beside_decimals)) continue;
      return rounded_to(unit, node);
    }
  }
  return {};
}

// Where all heads are expected, the numbers may be those of one.
std::optional<Diagnosis> one_head(const LearnerNode& node, const Mismatch& mismatch) {
  const Tensor& right = *node.truth;
  const std::size_t size = right.rows() * right.columns();
  const bool fits = mismatch.written.size() == size && mismatch.columns() == right.columns();
  for (std::size_t m = 0; fits && right.matrices() > 1 && m < right.matrices(); ++m) {
    const std::span<const double> head = std::span<const double>(right.values).subspan(m * size);
    bool is_off = false;
    for (std::size_t i = 0; i < size; ++i) {
      const double gap = std::abs(mismatch.written[i] - head[i]);
      is_off = is_off || (mismatch.written[i] != head[i] && gap > mismatch.tolerance[i]);
    }
    if (is_off) continue;
    return Diagnosis{.id = "slip.one-head",
                     .says = fmt::format("This is {} alone.", matrix_name(right, m)),
                     .hint = "Submit every head.",
                     .cells = node.wrong_cells()};
  }
  return {};
}

// The numbers may be those of another file, which has this one's.
std::optional<Diagnosis> exchanged_file(const LearnerNode& node, const Judgement& judgement) {
  const LearnerNode* other = exchanged_with(judgement, node);
  if (!other) return {};
  return Diagnosis{.id = "slip.files-exchanged",
                   .says = fmt::format("These are the numbers of {0}, and {0} has those of {1}.",
                                       other->name, node.name),
                   .hint = "Were the two files exchanged, or what they were computed from?",
                   .cells = node.wrong_cells()};
}

// Wrong cells may be the right numbers, rounded to fewer decimals than others of the matrix have;
// some write zeros behind those. They are taken out of the mismatch.
std::optional<Diagnosis> coarser_cells(const LearnerNode& node, Mismatch& mismatch) {
  std::size_t cells = 0;
  bool are_filled_up = false;
  double coarsest = 0;  // half of the unit
  const auto take = [&](std::size_t i) {
    mismatch.wrong[i] = false;
    mismatch.written[i] = std::numeric_limits<double>::quiet_NaN();
    ++cells;
  };
  for (std::size_t i = 0; i < mismatch.written.size(); ++i) {
    const Numeral& cell = node.submitted->cells[i];
    const double x = cell.value;
    if (!mismatch.wrong[i] || cell.exact || cell.scientific || x == 0) continue;
    int decimals = cell.decimals;
    while (decimals > 1 && !has_more_decimals(x, decimals - 1, 1e-9)) --decimals;
    const double half = std::pow(10.0, -decimals) / 2 + node.units.floor;
    if (decimals >= node.units.decimals || !(std::abs(x - mismatch.right[i]) <= half)) continue;
    are_filled_up = are_filled_up || decimals < cell.decimals;
    coarsest = std::max(coarsest, half);
    take(i);
  }
  for (std::size_t i = 0; i < mismatch.written.size(); ++i) {
    if (mismatch.wrong[i] && mismatch.written[i] == 0 && std::abs(mismatch.right[i]) <= coarsest)
      take(i);
  }
  if (cells == 0) return {};
  return Diagnosis{.id = "slip.too-few-decimals",
                   .says = fmt::format("Right numbers were rounded to fewer decimals than {}.",
                                       node.units.decimals),
                   .hint = "Keep as many decimals in every cell.",
                   .cells = cells,
                   .sure = cells > 1 || !are_filled_up};
}

// The same, and in `found` what explains the others. Nothing if too few cells are then explained:
// chance may have rounded some.
std::optional<Diagnosis> coarser_and_others(const LearnerNode& node, Mismatch mismatch,
                                            const std::vector<Candidate>& candidates,
                                            std::vector<Explanation>& found) {
  auto coarser = coarser_cells(node, mismatch);
  if (!coarser) return {};
  std::vector<Explanation> others = explain_mismatch(mismatch, candidates);
  std::size_t explained = coarser->cells;
  std::optional<std::size_t> last;  // of equally good ones, which explain the same cells
  for (Explanation& one : others) {
    if (std::exchange(last, one.first) != one.first) explained += one.cells;
    one.sure = one.sure && coarser->sure;
  }
  constexpr std::size_t times = 5;
  if (explained + coarser->cells / times < node.wrong_cells()) return {};
  found = std::move(others);
  return coarser;
}

// What explains the same cells as others is not sure, nor are those.
Diagnosis beside_others(Diagnosis one, std::vector<Explanation>& others) {
  one.sure = false;
  for (Explanation& other : others) other.sure = false;
  return one;
}

// Returns what is wrong with the digits of numbers that were written by hand. What was found
// besides is as likely: the only wrong cell may be coarser, and zeros may be rounded numbers.
std::optional<Diagnosis> missing_digits(const LearnerNode& node, const Mismatch& mismatch,
                                        const std::vector<Candidate>& candidates,
                                        std::vector<Explanation>& found) {
  if (found.empty()) return coarser_and_others(node, mismatch, candidates, found);
  Mismatch others = mismatch;
  auto coarser = coarser_cells(node, others);
  if (coarser && coarser->sure && node.wrong_cells() == 1) return beside_others(*coarser, found);
  const bool may_round =
      most_decimals(*node.submitted) == 0 && is_rounded_to(1, node.truth->values, mismatch, true);
  if (may_round) return beside_others(rounded_to(1, node), found);
  return {};
}

// The mistakes that make all wrong cells digit for digit, and would be sure if nothing else were
// likely.
std::vector<Explanation> digit_for_digit(Mismatch mismatch,
                                         const std::vector<Candidate>& candidates) {
  std::ranges::fill(mismatch.tolerance, mismatch.floor);
  std::vector<Explanation> found = explain_mismatch(mismatch, candidates);
  const auto wrong = static_cast<std::size_t>(std::ranges::count(mismatch.wrong, true));
  std::erase_if(found, [&](const Explanation& one) { return !one.sure || one.cells < wrong; });
  return found;
}

// Explains the mismatch by one mistake; else with room for rounding; else by the same one twice.
std::vector<Explanation> explanations_of(const Mismatch& mismatch, CandidateSet& candidate_set) {
  std::vector<Explanation> found = explain_mismatch(mismatch, candidate_set.candidates());
  if (found.empty() && candidate_set.allow_rounding())
    found = explain_mismatch(mismatch, candidate_set.candidates());
  if (found.empty() && candidate_set.collect_pairs())
    found = explain_mismatch(mismatch, candidate_set.candidates());
  return found;
}

// The lesson's name of a node, which a convention may compute in several steps.
std::string_view name_of(const Judgement& judgement, std::size_t node) {
  return lesson_step_of(judgement.nodes[node].name);
}

// What a mistake says, or its hint, with the step's own formula for {formula} and its operands for
// {0}, {1}, …
std::string words_of(const Candidate& candidate, std::string_view words, const Judgement& judgement,
                     const Trace& trace) {
  const LearnerNode& node = judgement.nodes[candidate.step];
  const bool is_slip = candidate.kind == CandidateKind::slip;
  std::string says = is_slip || !node.step ? as_shown(words, trace.token_layout)
                                           : words_for(*node.step, words, trace.token_layout);
  if (!node.step || says.find('{') == std::string::npos) return says;
  const Form form = node.step->operation->form(trace.call(*node.step));
  says = replace_all(says, "{formula}", form.formula);
  for (std::size_t k = 0; k < node.inputs.size(); ++k)
    says = replace_all(says, fmt::format("{{{}}}", k), name_of(judgement, node.inputs[k]));
  return says;
}

std::vector<Diagnosis> diagnoses_of(const std::vector<Explanation>& explanations,
                                    const std::vector<Candidate>& candidates,
                                    const Judgement& judgement, const Trace& trace,
                                    std::size_t index) {
  std::vector<Diagnosis> found;
  for (const Explanation& explanation : explanations) {
    const Candidate& candidate = candidates[explanation.candidate];
    std::string says = words_of(candidate, candidate.says, judgement, trace);
    const std::string detail = candidate.detail ? candidate.detail(explanation.first) : "";
    if (!detail.empty()) says = fmt::format("{}: {}.", says.substr(0, says.size() - 1), detail);
    const LearnerNode& made = judgement.nodes[candidate.step];
    const std::string_view step = name_of(judgement, candidate.step);
    if (candidate.also_in) {
      says = fmt::format("In {} and {}, which were not submitted: {}",
                         name_of(judgement, *candidate.also_in), step, says);
    } else if (explanation.or_other) {
      const Candidate& other = candidates[*explanation.or_other];
      const std::string_view other_step = name_of(judgement, other.step);
      const std::string other_says = words_of(other, other.says, judgement, trace);
      says = says == other_says
                 ? fmt::format("In {} or {}, which were not submitted: {}", step, other_step, says)
                 : fmt::format("In {}, which was not submitted: {} Or in {}: {}", step, says,
                               other_step, other_says);
    } else if (step != name_of(judgement, index)) {
      const std::string_view why = made.wrong_shape_array ? "" : ", which was not submitted";
      says = fmt::format("In {}{}: {}", step, why, says);
    }
    found.push_back({.id = candidate.id,
                     .says = std::move(says),
                     .hint = words_of(candidate, candidate.hint, judgement, trace),
                     .cells = explanation.cells,
                     .sure = explanation.sure,
                     .is_refuted = explanation.is_refuted,
                     .kind = candidate.kind,
                     .copies = candidate.evidence.copies,
                     .first = explanation.first});
  }
  return found;
}

// Returns the block that the wrong cells fill, if they do: its other cells are blank, masked, or
// share the same property. Empty for fewer than two wrong cells.
std::optional<Region> region_of(const LearnerNode& node) {
  if (!node.submitted || node.wrong_cells() < 2) return {};
  const Shape shape = node.own.shape();
  Cellwise block{node, {}};
  Region region{.axes = bounding_block(block, shape), .wrong = node.wrong_cells()};
  block.cells = cells_in(region, shape);
  region.is_whole = block.cells.size() == node.verdicts.size();
  constexpr std::size_t third = 3;  // a mask may hide half of a block
  if (third * region.wrong < block.cells.size()) return {};
  tell_what(block, region);
  if (region.what != Region::What::anything) return region;
  // Nothing in common: then nearly all must be wrong; some may be right by chance.
  const auto is_right = [&](auto i) { return block.is_evidence(i) && !block.is_wrong(i); };
  const auto others = static_cast<std::size_t>(std::ranges::count_if(block.cells, is_right));
  constexpr std::size_t one_in = 20;
  if (others * one_in > block.cells.size()) return {};
  return region;
}

}  // namespace

// Together at most 50 times the lesson's own work and what 2 seconds of one core do.
DiagnosisBudget::DiagnosisBudget(const Trace& trace) : work(trace.givens.size()) {
  constexpr double times = 50;
  constexpr double one_second = 7e8;
  double all = 0;
  for (const Step& step : trace.steps) {
    work.push_back(work_of(trace.call(step), step));
    all += work.back();
  }
  constexpr double times_unsubmitted = 3;
  unsubmitted = {times_unsubmitted * all + one_second};
  own = {(times - times_unsubmitted) * all + one_second};
}

bool are_alternatives(std::span<const Diagnosis> likely, std::size_t wrong) {
  if (likely.size() < 2) return false;
  const std::size_t cells = likely.front().cells;
  return 2 * cells > wrong &&
         std::ranges::all_of(likely, [&](const Diagnosis& one) { return one.cells == cells; });
}

bool is_certain(std::span<const Diagnosis> likely, std::size_t wrong) {
  return !likely.empty() && likely.front().sure && !are_alternatives(likely, wrong);
}

std::vector<std::size_t> cells_in(const Region& region, const Shape& shape) {
  std::vector<std::size_t> cells = {0};
  for (std::size_t a = 0; a < shape.size(); ++a) {
    std::vector<std::size_t> next;
    next.reserve(cells.size() * region.axes[a].size());
    for (const std::size_t start : cells) {
      for (std::size_t k = region.axes[a].from; k <= region.axes[a].to; ++k) {
        next.push_back(start * shape[a] + k);
      }
    }
    cells = std::move(next);
  }
  return cells;
}

NodeDiagnosis diagnose(const Judgement& judgement, const Trace& trace, std::size_t index,
                       DiagnosisBudget& budget) {
  const LearnerNode& node = judgement.nodes[index];
  const Mismatch mismatch = mismatch_of(node, index);
  if (!contains(mismatch.wrong, true)) return {};
  NodeDiagnosis result{.mistakes = {}, .region = region_of(node)};
  if (auto head = node.submitted ? std::nullopt : one_head(node, mismatch)) {
    result.mistakes.push_back(std::move(*head));
    return result;
  }
  auto digits = node.submitted ? too_few_decimals(node, mismatch) : std::nullopt;
  const bool are_all_rounded = digits.has_value();
  CandidateSet candidate_set(judgement, trace, index, mismatch,
                             result.region ? &*result.region : nullptr, budget);
  const std::vector<Candidate>& candidates = candidate_set.candidates();
  std::vector<Explanation> found = are_all_rounded ? digit_for_digit(mismatch, candidates)
                                                   : explanations_of(mismatch, candidate_set);
  // A factor or an offset that all wrong cells share says more than a mistake that explains some.
  const auto what = result.region ? result.region->what : Region::What::anything;
  const bool is_shared = what == Region::What::multiple || what == Region::What::offset;
  if (is_shared && !found.empty() && found.front().cells < result.region->wrong) found.clear();
  if (are_all_rounded && !found.empty()) digits = beside_others(std::move(*digits), found);
  if (node.submitted && !mismatch.is_of_program && !are_all_rounded)
    digits = missing_digits(node, mismatch, candidates, found);
  result.mistakes = diagnoses_of(found, candidates, judgement, trace, index);
  if (digits) result.mistakes.insert(result.mistakes.begin(), std::move(*digits));
  auto exchanged = are_all_rounded ? std::nullopt : exchanged_file(node, judgement);
  if (exchanged) {  // beside what makes the same numbers
    std::erase_if(result.mistakes, [&](const auto& one) { return one.cells < exchanged->cells; });
    result.mistakes.insert(result.mistakes.begin(), std::move(*exchanged));
  }
  result.untried = candidate_set.untried();
  return result;
}

}  // namespace qkv::inline check
