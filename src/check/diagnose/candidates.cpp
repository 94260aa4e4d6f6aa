#include "check/diagnose/candidates.hpp"

#include "check/judge/exactness.hpp"
#include "ops/heads/head_axis.hpp"

namespace qkv::inline check {
namespace {

// Adjacent cells, one head's in the result; or a column, if the heads are joined.
std::vector<Line> parts_of(const Tensor& result) {
  const std::size_t size = result.rows() * result.columns();
  const bool has_parts = comparable_heads(result) > 1;
  return mapped_places(result.matrices() * (has_parts ? 1 : result.columns()), [&](std::size_t k) {
    return has_parts ? Line{k * size, size, 1} : line_at(result, k, true);
  });
}

using CellValue = std::function<double(std::size_t cell)>;

// How far another head's numbers are from those written, relative to the right ones: at most 1 per
// wrong cell, and exactly 1 if they are no nearer. Of many cells only some are compared.
double distance(const Line& cells, const CellValue& other, std::span<const double> right,
                std::span<const double> written, std::size_t& off) {
  double sum = 0;
  off = 0;
  const std::size_t step = std::max<std::size_t>(1, cells.length / 512);
  for (std::size_t n = 0; n < cells.length; n += step) {
    const std::size_t i = cells.first + n * cells.stride;
    const double gap = std::abs(right[i] - written[i]);
    if (std::isnan(written[i]) || right[i] == written[i]) continue;
    ++off;
    const double left = other(i) == written[i] ? 0 : std::abs(other(i) - written[i]);
    sum += std::isnan(left) || std::isinf(gap) ? (left == 0 ? 0 : 1) : std::min(1.0, left / gap);
  }
  return sum;
}

// Adds the result with each part taken from the nearest head, unless no head is nearer.
void add_nearest_heads(const Tensor& right, std::span<const double> written, std::size_t heads,
                       const std::function<double(std::size_t head, std::size_t cell)>& of,
                       std::vector<Tensor>& results) {
  Tensor result = right;
  const std::span<double> numbers = result.values.mutable_span();
  bool any = false;
  for (const Line& cells : parts_of(right)) {
    std::size_t off = 0;
    std::size_t best_head = 0;
    double best = std::numeric_limits<double>::infinity();
    for (std::size_t head = 0; head < heads; ++head) {
      const double d = distance(
          cells, [&](std::size_t i) { return of(head, i); }, right.values, written, off);
      if (d < best) best_head = head;
      best = std::min(best, d);
    }
    if (best >= static_cast<double>(off)) continue;
    any = true;
    for (const std::size_t i : cells.cells()) numbers[i] = of(best_head, i);
  }
  if (any) results.push_back(std::move(result));
}

// Returns the step's results where heads use other heads' numbers, each the nearest to those
// written: of the result, or of an operand. Empty if no other head is nearer than its own.
std::vector<Tensor> with_nearest_heads(const StepView& step) {
  const Tensor& right = *step.tensor;
  const std::span<const double> numbers = right.values;
  if (!step.written || step.written->values.size() != numbers.size()) return {};
  const std::span<const double> written = step.written->values;
  const std::size_t heads = comparable_heads(right);
  std::vector<Tensor> results;
  if (heads > 1) {
    const std::size_t size = right.rows() * right.columns();
    const auto of_head = [&](std::size_t head, std::size_t i) {
      const std::size_t m = i / size;
      return numbers[(m - m % heads + head) * size + i % size];
    };
    add_nearest_heads(right, written, heads, of_head, results);
  }
  constexpr std::size_t many = std::size_t{1} << 16;  // larger: only a program's whole heads
  for (std::size_t k = 0; k < step.inputs.size() && numbers.size() <= many; ++k) {
    std::vector<Tensor> others = one_head_in_all(step.operand(k));
    for (Tensor& other : others) other = with_operand(step, k, other);
    const bool fit = others.size() > 1 && others.front().values.size() == numbers.size();
    if (!fit) continue;
    const auto of_other = [&](std::size_t head, std::size_t i) {
      return std::as_const(others[head]).values[i];
    };
    add_nearest_heads(right, written, others.size(), of_other, results);
  }
  return results;
}

// Any step's mistake: a head is mistaken for another if it, or an operand, has the other's numbers.
constexpr Mistake nearest_heads_mistake{
    other_heads.id, other_heads.says, other_heads.hint, with_nearest_heads, {.is_fitted = true}};

// How often that mistake computes the step.
double heads_to_compare(const StepView& step) {
  double heads = static_cast<double>(comparable_heads(*step.tensor));
  for (const StepView* input : step.inputs)
    heads += static_cast<double>(comparable_heads(*input->tensor));
  return heads;
}

// Limits the cells whose arithmetic is needed, and those that are tried wherever one is wrong.
constexpr std::ptrdiff_t most_cells_by_lines = 4096;
constexpr std::ptrdiff_t few_cells = 256;

// Marks cells in a row or a column with at least so many wrong ones.
std::vector<bool> near_wrong(const Mismatch& mismatch, std::size_t at_least) {
  const std::size_t columns = mismatch.columns();
  const std::size_t size = mismatch.rows() * columns;
  std::vector<std::size_t> in_row(mismatch.wrong.size() / columns);
  std::vector<std::size_t> in_column(mismatch.wrong.size() / mismatch.rows());
  const auto column_of = [&](std::size_t i) { return i / size * columns + i % columns; };
  for (std::size_t i = 0; i < mismatch.wrong.size(); ++i) {
    if (!mismatch.wrong[i]) continue;
    ++in_row[i / columns];
    ++in_column[column_of(i)];
  }
  return mapped_places(mismatch.wrong.size(), [&](std::size_t i) {
    return in_row[i / columns] >= at_least || in_column[column_of(i)] >= at_least;
  });
}

// Marks where a slip within one line can explain anything: lines with a wrong cell or, if these are
// too many, with half of all wrong cells.
std::vector<bool> worth_a_line(const Mismatch& mismatch) {
  std::vector<bool> near = near_wrong(mismatch, 1);
  if (std::ranges::count(near, true) <= few_cells) return near;
  const auto wrong = static_cast<std::size_t>(std::ranges::count(mismatch.wrong, true));
  return near_wrong(mismatch, (wrong + 1) / 2);
}

std::vector<std::size_t> wrong_cells(const Mismatch& mismatch) {
  return places_where(mismatch.wrong.size(), [&](std::size_t i) { return mismatch.wrong[i]; });
}

// "2 · 0.5 (Q[1,2] · W_Q[2,1])": names the cells of a product, or a cell alone.
std::string term_text(const Expression& term, const LearnerNode& node, const Hypothesis& hypothesis,
                      const Judgement& judgement, const Trace& trace) {
  using Kind = Expression::Kind;
  const std::span<const Expression> factors =
      term.kind() == Kind::product ? std::span(term.parts()) : std::span(&term, 1);
  std::vector<std::string> cells;
  for (const Expression& factor : factors) {
    if (factor.kind() != Kind::cell) return {};
    const CellPlace& place = factor.place();
    const std::size_t input = node.inputs[place.operand];
    cells.push_back(reference_text({.name = judgement.nodes[input].name,
                                    .matrix = place.matrix,
                                    .row = place.row,
                                    .column = place.column},
                                   hypothesis.tensor(input), trace.token_layout));
  }
  constexpr std::size_t few = 3;
  return cells.size() > few ? "" : fmt::format("{}", fmt::join(cells, " · "));
}

constexpr std::size_t kept_from_one_in = 5;  // a little less than the quarter that is named

// Returns a few of the rows with wrong cells of a matrix with many rows, evenly spread.
std::vector<std::size_t> sampled_rows(const Mismatch& mismatch) {
  constexpr std::size_t few = 4;
  std::set<std::size_t> wrong;
  for (const std::size_t i : wrong_cells(mismatch))
    wrong.insert(i / mismatch.columns() % mismatch.rows());
  if (wrong.size() < 2 * few) return {};
  std::vector<std::size_t> rows(wrong.begin(), wrong.end());
  for (std::size_t k = 0; k < few; ++k) rows[k] = rows[(2 * k + 1) * rows.size() / (2 * few)];
  rows.resize(few);
  return rows;
}

// Returns how far rounding in unsubmitted steps moves a program's numbers; 0 if that is no small
// part of how far the wrong ones are off.
double room_of_program(const LearnerNode& node) {
  double room = 0;
  double squares = 0;
  for (std::size_t i = 0; i < node.room.size(); ++i) {
    if (node.verdicts[i] != Verdict::wrong || !std::isfinite(node.room[i])) continue;
    const double gap = node.own.values[i] - node.from_yours.values[i];
    room = std::max(room, node.room[i]);
    squares += std::isfinite(gap) ? gap * gap : 0;
  }
  constexpr double part = 0.1;
  return room * room * static_cast<double>(node.wrong_cells()) < part * part * squares ? room : 0;
}

// True if a matrix is small enough to be written, and rounded, by hand.
bool is_by_hand(std::size_t cells) { return cells <= std::size_t{1} << 18; }

}  // namespace

CandidateSet::CandidateSet(const Judgement& judgement, const Trace& trace, std::size_t node,
                           const Mismatch& mismatch, const Region* region, DiagnosisBudget& budget)
    : judgement_(judgement),
      trace_(trace),
      index_(node),
      node_(judgement.nodes[node]),
      mismatch_(mismatch),
      region_(region),
      budget_(budget),
      unsubmitted_before_(unsubmitted_before(judgement, node)) {
  const bool by_hand = is_by_hand(mismatch.written.size());
  if (!by_hand) {  // some of the wrong cells, evenly spread
    constexpr std::size_t many = 2000;
    const std::vector<std::size_t> wrong = wrong_cells(mismatch);
    const std::size_t stride = std::max<std::size_t>(1, wrong.size() / many);
    for (std::size_t n = 0; n < wrong.size(); n += stride) probes_.push_back(wrong[n]);
  }
  if (node_.submitted && mismatch.written.size() > max_cells_with_slack) {
    sampled_rows_ = sampled_rows(mismatch);
    room_ = room_of_program(node_);
  }
  if (node_.submitted) {
    written_.axes = node_.own.axes;
    written_.values = mismatch.written;
  }
  std::vector<Hypothesis> hypotheses =
      by_hand && (node_.units.are_written() || mismatch.written.size() <= max_cells_with_slack)
          ? hypotheses_of(judgement, trace, node, node_.units.unsubmitted_decimals())
          : std::vector{Hypothesis(judgement, trace)};
  for (Hypothesis& numbers : hypotheses) {
    Tensor right = node_.step ? numbers.worked(index_).value_or(node_.from_yours) : *node_.truth;
    numbers.put(index_, right);
    assume(std::move(numbers), std::move(right), assumptions_);
  }
  for (const Assumption& assumption : assumptions_) collect_own(assumption);
  if (node_.step && !node_.has_lessons_inputs) collect_unsubmitted();
}

void CandidateSet::assume(Hypothesis numbers, Tensor right,
                          std::deque<Assumption>& assumptions) const {
  assumptions.push_back({std::move(numbers), std::move(right)});
  Assumption& made = assumptions.back();
  made.steps = made.numbers.sources();
  if (node_.submitted) made.steps[index_].written = &written_;
}

bool CandidateSet::is_near_written(double x, std::size_t cell) const {
  const double written = mismatch_.written[cell];
  return x == written || std::abs(x - written) <= mismatch_.tolerance[cell] + room_;
}

// A candidate for less than a quarter of the wrong cells is never named, first or later. Keeping it
// would cost a copy of a large matrix.
bool CandidateSet::is_worth_keeping(const Tensor& numbers) const {
  if (probes_.empty() || numbers.values.size() != mismatch_.written.size()) return true;
  std::size_t hits = 0;
  for (const std::size_t i : probes_) hits += is_near_written(numbers.values[i], i) ? 1 : 0;
  return hits * kept_from_one_in >= probes_.size();
}

// Beside the steps on the path, each candidate is compared cell by cell, in several parts.
CandidateSet::Origin CandidateSet::origin_at(std::size_t at) const {
  constexpr double comparison = 8;
  Origin origin{.at = at,
                .path = path_to(judgement_, index_, at, unsubmitted_before_),
                .work = comparison * static_cast<double>(mismatch_.written.size())};
  for (const std::size_t i : origin.path) origin.work += budget_.work[i];
  constexpr double large = 1e6;
  if (at == index_ || origin.work < large || sampled_rows_.empty()) return origin;
  origin.sample = assumptions_.front().numbers.sample_of(origin.path, sampled_rows_);
  if (origin.sample.in_full == origin.path.size()) origin.sample = {};
  const double share =
      static_cast<double>(sampled_rows_.size()) / static_cast<double>(mismatch_.rows());
  for (std::size_t k = 0; k < origin.path.size(); ++k)
    origin.sample_work += budget_.work[origin.path[k]] * (k < origin.sample.in_full ? 1 : share);
  return origin;
}

// True if a quarter of the wrong cells in the sampled rows are those of the candidate.
bool CandidateSet::fits_sample(const Search& search, const Tensor& made) const {
  const RowSample& sample = search.origin.sample;
  const auto some =
      search.assumption.numbers.carried_along(search.origin.path, search.origin.at, made, &sample);
  if (!some || some->rows() != sample.rows.size() || some->columns() != mismatch_.columns() ||
      some->matrices() * mismatch_.rows() * mismatch_.columns() != mismatch_.written.size())
    return some.has_value();  // of another shape
  std::size_t wrong = 0;
  std::size_t hits = 0;
  for (std::size_t i = 0; i < some->values.size(); ++i) {
    const std::size_t row = i / mismatch_.columns();
    const std::size_t cell =
        (row / sample.rows.size() * mismatch_.rows() + sample.rows[row % sample.rows.size()]) *
            mismatch_.columns() +
        i % mismatch_.columns();
    if (!mismatch_.wrong[cell]) continue;
    ++wrong;
    hits += is_near_written(std::as_const(some->values)[i], cell) ? 1 : 0;
  }
  return hits * kept_from_one_in >= wrong;
}

void CandidateSet::collect_own(const Assumption& assumption) {
  if (node_.step && !node_.has_lessons_inputs) {
    const StepView& step = assumption.steps[index_];
    const Origin origin = origin_at(index_);
    const Search search{assumption, origin, budget_.own, candidates_};
    const double work = budget_.work[index_];
    const bool all = collect_mistakes(search, step.operation->mistakes, work);
    const bool has_numbers =
        node_.submitted && step.tensor->values.size() == written_.values.size();
    const bool has_heads = !has_numbers || collect_mistakes(search, {&nearest_heads_mistake, 1},
                                                            work * heads_to_compare(step));
    if (!all || !has_heads) untried_ = 1;
  }
  collect_slips(assumption);
}

// One matrix may use half of what is left, and each step before it twice its even share.
void CandidateSet::collect_unsubmitted() {
  double left = budget_.unsubmitted.left / 2;
  budget_.unsubmitted.left -= left;
  for (const std::size_t at : unsubmitted_before_) {
    const Origin& origin = origins_.emplace_back(origin_at(at));
    const std::size_t steps = unsubmitted_before_.size() + 2 - origins_.size();
    const double share = 2 * left / static_cast<double>(steps);
    WorkBudget budget{share};
    for (const Assumption& assumption : assumptions_) {
      const std::size_t from = candidates_.size();
      const double before = budget.left;
      if (!made_in({assumption, origin, budget, candidates_})) {
        ++untried_;
        break;
      }
      unsubmitted_.push_back(
          {&assumption, &origin, from, candidates_.size(), before - budget.left});
    }
    left -= share - budget.left;
  }
  budget_.unsubmitted.left += left;
}

bool CandidateSet::made_in(const Search& search) const {
  const std::size_t at = search.origin.at;
  const std::span<const Mistake> mistakes = search.assumption.steps[at].operation->mistakes;
  return collect_mistakes(search, mistakes, budget_.work[at]) && collect_unsubmitted_slips(search);
}

// Adds the candidate as it shows in the matrix. Returns false if that costs more than is left.
bool CandidateSet::add_carried(const Search& search, Candidate made) const {
  if (!search.origin.sample.rows.empty()) {
    if (!search.budget.take(search.origin.sample_work)) return false;
    if (!fits_sample(search, made.numbers.tensor())) return true;
  }
  if (!search.budget.take(search.origin.work)) return false;
  auto numbers = search.assumption.numbers.carried_along(search.origin.path, search.origin.at,
                                                         made.numbers.tensor());
  if (!numbers || !is_worth_keeping(*numbers)) return true;
  made.numbers = std::move(*numbers);
  made.step = search.origin.at;
  search.found.push_back(std::move(made));
  return true;
}

// A whole unsubmitted matrix may have been transposed, or have lost its signs or a head.
bool CandidateSet::collect_unsubmitted_slips(const Search& search) const {
  const Tensor& right = search.assumption.numbers.tensor(search.origin.at);
  if (!is_by_hand(right.values.size())) return true;
  const SlipContext context{.right = &right, .decimals = node_.units.decimals};
  for (Candidate& slip : slip_candidates(context, SlipPlace::of_unsubmitted)) {
    if (!add_carried(search, std::move(slip))) return false;
  }
  return true;
}

bool CandidateSet::collect_mistakes(const Search& search, std::span<const Mistake> mistakes,
                                    double work) const {
  // A 0 in weights comes from a mask; in a gradient it may have other causes.
  const bool zeros_tell = search.origin.at == index_ || !is_gradient(*node_.step->operation);
  for (const Mistake& mistake : mistakes) {
    if (!search.budget.take(work)) return false;
    Versions versions = versions_of(mistake.change, search.assumption.steps[search.origin.at]);
    search.budget.left -= work * std::max(0.0, static_cast<double>(versions.size()) - 1);
    for (Tensor& made : versions) {
      Candidate candidate{
          mistake.id,
          mistake.says,
          mistake.hint,
          mistake.evidence.is_fitted ? CandidateKind::fitted : CandidateKind::mistake,
          SlipScope::anything,
          std::move(made),
          mistake.evidence};
      candidate.evidence.zeros = mistake.evidence.zeros && zeros_tell;
      if (!add_carried(search, std::move(candidate))) return false;
    }
  }
  return true;
}

bool CandidateSet::collect_pairs() {
  const std::size_t before = candidates_.size();
  bool may_go_on = true;
  for (const Assumption& assumption : assumptions_) {
    for (const std::size_t first : unsubmitted_before_) {
      for (const std::size_t second : unsubmitted_before_)
        may_go_on = may_go_on && (first >= second || collect_pair(assumption, first, second));
    }
  }
  if (!may_go_on) untried_ = std::max<std::size_t>(untried_, 1);
  return candidates_.size() > before;
}

// Returns false if that costs more than is left.
bool CandidateSet::collect_pair(const Assumption& assumption, std::size_t first,
                                std::size_t second) {
  const std::span<const Mistake> others = assumption.steps[second].operation->mistakes;
  for (const Mistake& mistake : assumption.steps[first].operation->mistakes) {
    const auto same = std::ranges::find(others, mistake.id, &Mistake::id);
    if (same == others.end()) continue;
    const Origin origin = origin_at(first);
    const Origin next = origin_at(second);
    for (Tensor& made : versions_of(mistake.change, assumption.steps[first])) {
      if (!budget_.unsubmitted.take(origin.work + budget_.work[first])) return false;
      auto numbers = assumption.numbers.changed_along(origin.path, first, std::move(made));
      if (!numbers) continue;
      Assumption changed{*std::move(numbers), assumption.right};
      changed.steps = changed.numbers.sources();
      const Search search{changed, next, budget_.unsubmitted, candidates_};
      std::size_t added = candidates_.size();
      const bool all = collect_mistakes(search, {&*same, 1}, budget_.work[second]);
      for (; added < candidates_.size(); ++added) candidates_[added].also_in = first;
      if (!all) return false;
    }
  }
  return true;
}

void CandidateSet::collect_slips(const Assumption& assumption) {
  const Hypothesis& hypothesis = assumption.numbers;
  const Tensor& right = assumption.right;
  SlipContext& context = contexts_.emplace_back();
  context.right = &right;
  context.decimals = node_.units.decimals;
  const bool same_shape = right.shape() == mismatch_.shape;
  const bool by_hand = same_shape && is_by_hand(mismatch_.written.size());
  if (same_shape) {
    context.written = mismatch_.written;
    context.region = region_;
    context.are_shares = mismatch_.are_shares;
  }
  if (by_hand) {
    context.near_wrong = worth_a_line(mismatch_);
    context.wrong = wrong_cells(mismatch_);
  }
  if (node_.step && by_hand &&
      std::ranges::count(context.near_wrong, true) <= most_cells_by_lines) {
    context.arithmetic = [&hypothesis, this](std::size_t m, std::size_t r, std::size_t c) {
      return hypothesis.arithmetic(index_, m, r, c);
    };
    context.term_text = [&hypothesis, this](const Expression& term) {
      return term_text(term, node_, hypothesis, judgement_, trace_);
    };
  }
  for (Candidate& slip :
       slip_candidates(context, by_hand ? SlipPlace::of_hand : SlipPlace::of_program)) {
    if (!is_worth_keeping(slip.numbers.tensor())) continue;
    slip.step = index_;
    candidates_.push_back(std::move(slip));
  }
}

}  // namespace qkv::inline check
