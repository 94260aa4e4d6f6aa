#include "check/diagnose/candidates.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "check/diagnose/other_heads.hpp"
#include "check/diagnose/region.hpp"
#include "ops/backward_rule.hpp"
#include "text/error.hpp"
#include "trace/reference.hpp"

namespace qkv {
namespace {

// So many cells are worth the time of writing each digit by digit, and of its arithmetic.
constexpr std::ptrdiff_t most_cells_by_lines = 4096;

// Cells in a row or a column with at least so many wrong ones.
std::vector<bool> near_wrong(const Puzzle& puzzle, std::size_t at_least) {
  const std::size_t columns = puzzle.columns();
  const std::size_t size = puzzle.rows() * columns;
  std::vector<std::size_t> in_row(puzzle.wrong.size() / columns);
  std::vector<std::size_t> in_column(puzzle.wrong.size() / puzzle.rows());
  const auto column_of = [&](std::size_t i) { return i / size * columns + i % columns; };
  for (std::size_t i = 0; i < puzzle.wrong.size(); ++i) {
    if (!puzzle.wrong[i]) continue;
    ++in_row[i / columns];
    ++in_column[column_of(i)];
  }
  std::vector<bool> near(puzzle.wrong.size());
  for (std::size_t i = 0; i < near.size(); ++i) {
    near[i] = in_row[i / columns] >= at_least || in_column[column_of(i)] >= at_least;
  }
  return near;
}

// Where a slip that reaches no further than a line can explain anything: where something is wrong
// or, as that may be everywhere, in lines that hold half of it.
std::vector<bool> worth_a_line(const Puzzle& puzzle) {
  std::vector<bool> near = near_wrong(puzzle, 1);
  if (std::ranges::count(near, true) <= most_cells_by_lines) return near;
  const auto wrong = static_cast<std::size_t>(std::ranges::count(puzzle.wrong, true));
  return near_wrong(puzzle, (wrong + 1) / 2);
}

std::vector<std::vector<std::size_t>> wrong_rows(const Puzzle& puzzle, const Tensor& right) {
  std::vector<std::vector<std::size_t>> all(right.matrices());
  const std::size_t size = right.rows() * right.columns();
  for (std::size_t i = 0; i < puzzle.wrong.size(); ++i) {
    std::vector<std::size_t>& rows = all[i / size];
    const std::size_t row = i % size / right.columns();
    if (puzzle.wrong[i] && (rows.empty() || rows.back() != row)) rows.push_back(row);
  }
  return all;
}

// "2 · 0.5 (Q[1,2] · W_Q[2,1])": the cells of a term that is a product or one of them.
std::string term_text(const Expression& term, const LearnerNode& node, const Hypothesis& hypothesis,
                      const Judgement& judgement, const Trace& trace) {
  std::vector<std::string> cells;
  const auto collect = [&](const auto& self, const Expression& part) -> void {
    if (part.kind() == Expression::Kind::cell) {
      const CellPlace& place = part.place();
      const std::size_t input = node.inputs[place.operand];
      cells.push_back(reference_text({.name = judgement.nodes[input].name,
                                      .matrix = place.matrix,
                                      .row = place.row,
                                      .column = place.column},
                                     hypothesis.tensor(input), trace.convention));
      return;
    }
    for (const Expression& inner : part.parts()) self(self, inner);
  };
  collect(collect, term);
  constexpr std::size_t few = 3;
  if (cells.empty() || cells.size() > few) return {};
  return fmt::format("{}", fmt::join(cells, " · "));
}

// Some of the wrong cells, evenly spread.
std::vector<std::size_t> probes_of(const Puzzle& puzzle) {
  constexpr std::size_t many = 2000;
  std::vector<std::size_t> wrong;
  for (std::size_t i = 0; i < puzzle.wrong.size(); ++i) {
    if (puzzle.wrong[i]) wrong.push_back(i);
  }
  std::vector<std::size_t> probes;
  const std::size_t stride = std::max<std::size_t>(1, wrong.size() / many);
  for (std::size_t n = 0; n < wrong.size(); n += stride) probes.push_back(wrong[n]);
  return probes;
}

}  // namespace

bool is_by_hand(std::size_t cells) { return cells <= std::size_t{1} << 18; }

Suspects::Suspects(const Judgement& judgement, const Trace& trace, std::size_t node,
                   const Puzzle& puzzle)
    : judgement_(judgement),
      trace_(trace),
      index_(node),
      node_(judgement.nodes[node]),
      puzzle_(puzzle),
      unseen_before_(unseen_before(judgement, node)) {
  const bool by_hand = is_by_hand(puzzle.written.size());
  if (!by_hand) probes_ = probes_of(puzzle);
  if (node_.handed) {
    written_.axes = node_.own.axes;
    written_.values = puzzle.written;
  }
  if (const auto region = region_of(node_); region && region->what == Region::What::zero) {
    zeros_ = cells_in(*region, node_.own.shape());
  }
  hypotheses_ = by_hand ? hypotheses_of(judgement, trace, node, node_.units.unseen_decimals())
                        : std::vector{Hypothesis(judgement, trace)};
  for (std::size_t h = 0; h < hypotheses_.size(); ++h) collect(h);
}

// What explains less than a quarter of the wrong cells is neither named first nor for what that
// leaves over. A large matrix is held a dozen times if such are kept.
bool Suspects::is_worth_keeping(const Tensor& numbers) const {
  if (probes_.empty() || numbers.values.size() != puzzle_.written.size()) return true;
  std::size_t hits = 0;
  for (const std::size_t i : probes_) {
    const double gap = std::abs(numbers.values[i] - puzzle_.written[i]);
    if (numbers.values[i] == puzzle_.written[i] || gap <= puzzle_.reach[i]) ++hits;
  }
  constexpr std::size_t quarter = 5;  // and a little less
  return hits * quarter >= probes_.size();
}

void Suspects::collect(std::size_t h) {
  Hypothesis& hypothesis = hypotheses_[h];
  rights_.push_back(node_.step ? hypothesis.worked_or(node_.from_yours, index_) : *node_.truth);
  const Tensor& right = rights_.back();
  hypothesis.put(index_, right);
  if (node_.step && !node_.has_lessons_inputs) {
    std::vector<Version> unseen = unseen_versions(hypothesis);
    unseen_.push_back({h, versions_.size(), versions_.size() + unseen.size()});
    std::ranges::move(unseen, std::back_inserter(versions_));
    collect_mistakes(hypothesis, std::array{index_}, versions_);
    collect_other_heads(hypothesis);
  }
  collect_slips(hypothesis, right);
}

void Suspects::collect_mistakes(const Hypothesis& hypothesis, std::span<const std::size_t> places,
                                std::vector<Version>& versions) const {
  std::vector<Source> sources = hypothesis.sources();
  if (node_.handed) sources[index_].written = &written_;
  for (const std::size_t at : places) {
    const Operation* operation = sources[at].operation;
    if (!operation) continue;
    // What a mask hides is 0 in weights; a gradient is 0 for other reasons, too.
    const bool zeros_tell = at == index_ || !node_.step || !is_gradient(*node_.step->operation);
    for (const Mistake& mistake : operation->mistakes) {
      std::vector<Tensor> made;
      try {
        made = mistake.compute(sources[at]);
      } catch (const InputError&) {  // impossible with these shapes
      }
      for (Tensor& tensor : made) {
        auto numbers = hypothesis.carried_to(at, std::move(tensor), index_);
        if (!numbers || !is_worth_keeping(*numbers)) continue;
        versions.push_back(
            {.id = mistake.id,
             .says = mistake.says,
             .hint = mistake.hint,
             .kind = mistake.evidence.is_fitted ? VersionKind::fitted : VersionKind::mistake,
             .reach = Reach::anything,
             .numbers = std::move(*numbers),
             .evidence = {.zeros = mistake.evidence.zeros && zeros_tell,
                          .infinities = mistake.evidence.infinities,
                          .least = mistake.evidence.least,
                          .is_fitted = mistake.evidence.is_fitted},
             .step = at});
      }
    }
  }
}

// A head is another's where it has its numbers, or where an operand had.
void Suspects::collect_other_heads(const Hypothesis& hypothesis) {
  const std::vector<Source> sources = hypothesis.sources();
  const Source& step = sources[index_];
  if (!node_.handed || step.tensor->values.size() != puzzle_.written.size()) return;
  for (Tensor& made : taken_from_other_heads(step, puzzle_.written)) {
    if (!is_worth_keeping(made)) continue;
    versions_.push_back({.id = "heads.other",
                         .says = "Another head's numbers were taken: each head works on its own.",
                         .hint = "Which head stands behind each number?",
                         .kind = VersionKind::fitted,
                         .reach = Reach::anything,
                         .numbers = std::move(made)});
  }
}

void Suspects::collect_slips(const Hypothesis& hypothesis, const Tensor& right) {
  SlipContext& context = contexts_.emplace_back();
  context.right = &right;
  context.decimals = node_.units.decimals;
  const bool same_shape = right.shape() == puzzle_.shape;
  const bool by_hand = is_by_hand(puzzle_.written.size());
  if (same_shape) {
    context.written = puzzle_.written;
    context.zeros = zeros_;
  }
  if (same_shape && by_hand) {
    context.near_wrong = worth_a_line(puzzle_);
    context.wrong_rows = wrong_rows(puzzle_, right);
  }
  if (node_.step && same_shape && by_hand &&
      std::ranges::count(context.near_wrong, true) <= most_cells_by_lines) {
    context.arithmetic = [&hypothesis, this](std::size_t m, std::size_t r, std::size_t c) {
      return hypothesis.arithmetic(index_, m, r, c);
    };
    context.term_text = [&hypothesis, this](const Expression& term) {
      return term_text(term, node_, hypothesis, judgement_, trace_);
    };
  }
  for (SlipVersion& slip : slip_versions(context, Reach::line, by_hand ? By::hand : By::program)) {
    for (std::size_t v = 0; v < slip.versions.size(); ++v) {
      if (!is_worth_keeping(slip.versions[v].tensor())) continue;
      Version& version =
          versions_.emplace_back(Version{slip.id, slip.says, slip.hint, VersionKind::slip,
                                         slip.reach, std::move(slip.versions[v])});
      version.evidence = slip.evidence;
      if (slip.detail) {
        version.detail = [detail = slip.detail, v](std::size_t cell) { return detail(v, cell); };
      }
    }
  }
}

}  // namespace qkv
