#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "check/intake/layout.hpp"
#include "check/judge/conventions.hpp"
#include "ops/backward_rule.hpp"
#include "tensor/compare.hpp"
#include "trace/evaluate.hpp"

namespace qkv::inline check {
namespace {

constexpr std::size_t any_number = std::numeric_limits<std::size_t>::max();

enum class RopeLayout { lessons, other };

// Counts a step's cells that are wrong or undecided: both speak against an interpretation.
std::size_t unsettled(const LearnerNode& node) {
  return node.wrong_cells() +
         static_cast<std::size_t>(std::ranges::count(node.verdicts, Verdict::undecided));
}

// How the submitted numbers are laid out, if not as in the lesson.
struct Layout {
  Transposed transposed = Transposed::no;
  SquareHeadAxis square = SquareHeadAxis::first;
  RopeLayout rope = RopeLayout::lessons;
};

// What all interpretations of a submission share.
struct Interpreter {
  const Lesson& lesson;
  std::shared_ptr<const Trace> trace;  ///< the lesson's
  const Submission& submission;
  CheckOptions options;

  // Stops once `too_many` cells are wrong: such an interpretation is not better than a known one.
  Interpretation operator()(const Layout& layout, std::shared_ptr<const Trace> of,
                            std::size_t too_many = any_number) const;
};

Interpretation Interpreter::operator()(const Layout& layout, std::shared_ptr<const Trace> of,
                                       std::size_t too_many) const {
  Interpretation result{.trace = std::move(of), .transposed = layout.transposed};
  result.submitted = normalise_layout(submission, *result.trace, layout.transposed);
  if (!options.strict && layout.transposed == Transposed::no)
    move_heads_first(*result.trace, result.submitted, layout.square);
  if (layout.rope == RopeLayout::other)
    result.permuted = accept_rope_layout(*result.trace, result.submitted);
  result.judgement = judge(*result.trace, result.submitted, options, too_many);
  if (result.judgement.given_up) {
    result.wrong = any_number;
    return result;
  }
  for (const LearnerNode& node : result.judgement.nodes) result.wrong += unsettled(node);
  return result;
}

const LearnerNode* node_of(const Interpretation& interpretation, const std::string& name) {
  const auto& nodes = interpretation.judgement.nodes;
  const auto found = std::ranges::find(nodes, name, &LearnerNode::name);
  return found == nodes.end() ? nullptr : &*found;
}

std::size_t wrong_in(const Interpretation& interpretation, const std::string& name) {
  const LearnerNode* node = node_of(interpretation, name);
  return node ? unsettled(*node) : 0;
}

// Which of two interpretations the cells of a step favour, if their results differ there.
struct Evidence {
  std::size_t apart = 0;      ///< cells that distinguish the two
  std::size_t for_other = 0;  ///< of those: wrong in the plain one, or farther from it
};

Evidence evidence_in(const Interpretation& plain, const Interpretation& other,
                     const std::string& name) {
  const LearnerNode* node = node_of(plain, name);
  const LearnerNode* another = node_of(other, name);
  Evidence evidence;
  if (!node || !another || !node->submitted || !another->submitted) return evidence;
  for (std::size_t i = 0; i < node->verdicts.size(); ++i) {
    const double theirs = another->from_yours.values[i];
    const double gap = std::abs(node->from_yours.values[i] - theirs);
    if (node->verdicts[i] == Verdict::blank || !(gap > node->units.tolerance(i))) continue;
    const double own = node->own.values[i];
    const bool is_nearer = std::abs(own - theirs) < std::abs(own - node->from_yours.values[i]);
    ++evidence.apart;
    evidence.for_other += node->verdicts[i] == Verdict::wrong || is_nearer ? 1 : 0;
  }
  return evidence;
}

// True if half of a step's wrong cells are right in the other interpretation, or if it has none and
// is nearer to the other.
bool favours(const Interpretation& other, const Interpretation& plain, const std::string& name) {
  const std::size_t before = wrong_in(plain, name);
  const std::size_t after = wrong_in(other, name);
  if (before > 0) return 2 * after <= before;
  const Evidence evidence = evidence_in(plain, other, name);
  return after == 0 && evidence.apart > 0 && 2 * evidence.for_other > evidence.apart;
}

// True if no step has more wrong cells than before: later ones may have followed from a wrong one.
bool contradicts_none(const Interpretation& other, const Interpretation& plain,
                      const std::vector<std::string>& changed) {
  return other.wrong < plain.wrong && std::ranges::all_of(changed, [&](const std::string& name) {
           return wrong_in(other, name) <= wrong_in(plain, name);
         });
}

// Returns the first submitted step that early scaling changes, except the scaling itself: it must
// be better. A learner who forgets to scale has scores that look scaled early, but queries that do
// not.
std::string first_changed(const Interpretation& interpretation, const EquivalentRecipe& early) {
  const auto is_there = [&](const std::string& name) {
    const auto& all = interpretation.submitted;
    return std::ranges::find(all, name, &SubmittedArray::name) != all.end();
  };
  const auto found = std::ranges::find_if(early.changed, [&](const std::string& name) {
    return !interpretation.trace->step_at(name).operation->equivalent_placement && is_there(name);
  });
  return found == early.changed.end() ? "" : *found;
}

// Counts the steps that are wrong in an interpretation.
std::size_t wrong_among(const Interpretation& interpretation,
                        const std::vector<std::string>& names) {
  return static_cast<std::size_t>(std::ranges::count_if(
      names, [&](const std::string& name) { return wrong_in(interpretation, name) > 0; }));
}

// Evaluates another recipe with the lesson's givens.
std::shared_ptr<const Trace> trace_of(Recipe recipe, const Trace& lesson) {
  recipe.givens = lesson.givens;
  return std::make_shared<const Trace>(evaluate_all(std::move(recipe)).trace);
}

// Interprets the submission in other units; empty if none match better.
std::optional<Interpretation> in_other_units(const Interpreter& interpret, const Layout& layout,
                                             const Interpretation& plain) {
  for (EquivalentUnits& units : in_equivalent_units(interpret.lesson.recipe)) {
    if (wrong_among(plain, units.changed) == 0) continue;
    const auto trace = trace_of(std::move(units.recipe), *interpret.trace);
    Interpretation other = interpret(layout, trace, plain.wrong);
    const auto supports = [&](const std::string& name) { return favours(other, plain, name); };
    const std::vector<std::string>& deciding =
        units.needs_follower ? units.following : units.changed;
    const bool has_loss =
        !units.needs_follower || !interpret.options.needs_loss || supports(units.changed.front());
    const bool is_better = has_loss && contradicts_none(other, plain, units.changed) &&
                           std::ranges::any_of(deciding, supports);
    if (!is_better) continue;
    other.units = units.id;
    other.in_equivalent_units = std::move(units.changed);
    return other;
  }
  return {};
}

// Interprets rotated queries and keys with reordered columns; empty unless both match better so.
// One alone is a mistake.
std::optional<Interpretation> with_other_pairing(const Interpreter& interpret, const Layout& layout,
                                                 const Interpretation& plain) {
  if (wrong_among(plain, rotated_steps(*interpret.trace)) < 2) return {};
  const Layout other{layout.transposed, layout.square, RopeLayout::other};
  Interpretation permuted = interpret(other, interpret.trace, plain.wrong);
  const auto supports = [&](const std::string& name) {
    return wrong_in(plain, name) > 0 && favours(permuted, plain, name);
  };
  const bool are_both = contradicts_none(permuted, plain, permuted.permuted) &&
                        std::ranges::count_if(permuted.permuted, supports) > 1;
  if (!are_both) return {};
  return permuted;
}

// Interprets ALiBi's distances from an end of the keys; empty if neither end matches better.
std::optional<Interpretation> with_shifted_alibi(const Interpreter& interpret, const Layout& layout,
                                                 const Interpretation& plain) {
  for (const EquivalentRecipe& end : alibi_from_ends(interpret.lesson.recipe, *interpret.trace)) {
    Interpretation counted = interpret(layout, trace_of(end.recipe, *interpret.trace), plain.wrong);
    counted.alibi_from_end = true;
    const bool is_better = counted.wrong < plain.wrong &&
                           std::ranges::all_of(end.changed, [&](const std::string& name) {
                             return 2 * wrong_in(counted, name) <= wrong_in(plain, name);
                           });
    if (is_better) return counted;
  }
  return {};
}

// True if the two traces differ in no forward step but `changed`: a query that two scores share may
// not be scaled for one of them.
bool is_equivalent(const Trace& now, const Trace& lesson, const std::vector<std::string>& changed) {
  constexpr Tolerance rounding{.relative = 1e-9, .absolute = 1e-9};
  return std::ranges::all_of(lesson.steps, [&](const Step& step) {
    if (is_gradient(*step.operation) || std::ranges::count(changed, step.name) > 0) return true;
    return difference_of(now.at(step.name).values, step.output.values, rounding).mismatched == 0;
  });
}

// Interprets queries as scaled before the product; empty if no place of the scaling matches better.
std::optional<Interpretation> with_early_scaling(const Interpreter& interpret, const Layout& layout,
                                                 const Interpretation& plain) {
  std::optional<Interpretation> best;
  for (const EquivalentRecipe& early :
       moved_step_recipes(interpret.lesson.recipe, *interpret.trace)) {
    const std::string first = first_changed(plain, early);
    const std::size_t to_beat = best ? best->wrong : plain.wrong;
    if (to_beat == 0 || wrong_in(plain, first) == 0) continue;
    const auto trace = trace_of(early.recipe, *interpret.trace);
    if (!is_equivalent(*trace, *interpret.trace, early.changed)) continue;
    Interpretation other = interpret(layout, trace, to_beat);
    other.scaled = early.changed;
    const Evidence evidence = evidence_in(plain, other, first);
    // A single slip is no convention.
    const bool is_clear = 2 * evidence.for_other >= evidence.apart;
    const bool is_better =
        other.wrong < to_beat && 2 * wrong_in(other, first) <= wrong_in(plain, first);
    if (is_better && is_clear) best = std::move(other);
  }
  return best;
}

bool is_square(const Tensor& tensor) { return tensor.rows() == tensor.columns(); }

// True if one line was written as a column where the lesson has a row, or the reverse.
bool lies_across(const LearnerNode& node) { return node.submitted && node.submitted->lies_across; }

// True if enough wrong matrices could be right when transposed: two square ones, one and a line, or
// another one.
bool may_be_transposed(const std::vector<LearnerNode>& nodes) {
  std::size_t squares = std::ranges::any_of(nodes, lies_across) ? 1 : 0;
  return std::ranges::any_of(nodes, [&](const LearnerNode& node) {
    Shape shape = node.truth->shape();
    if (shape.size() < 2 || unsettled(node) == 0) return false;
    std::swap(shape.back(), shape[shape.size() - 2]);
    const bool fits = !node.wrong_shape_array || node.wrong_shape_array->shape == shape;
    return fits && (node.wrong_shape_array || (is_square(*node.truth) && ++squares > 1));
  });
}

// What the matrices of a submission tell about it as a whole, when it is transposed.
struct ColumnsEvidence {
  std::size_t for_it = 0;   ///< matrices with at most half of their wrong cells left
  std::size_t against = 0;  ///< matrices that fit only as they are
  bool is_sure = false;     ///< two matrices show it, or one that is not square, or one line
  bool is_whole = false;    ///< a whole wrong matrix becomes right
};

ColumnsEvidence columns_evidence(const Interpretation& transposed, const Interpretation& plain) {
  ColumnsEvidence evidence;
  for (const LearnerNode& node : plain.judgement.nodes) {
    const std::size_t before = unsettled(node);
    const std::size_t after = wrong_in(transposed, node.name);
    evidence.is_sure = evidence.is_sure || lies_across(node);
    if (before == after) continue;
    if (2 * before <= after) ++evidence.against;
    if (2 * after > before) continue;
    ++evidence.for_it;
    evidence.is_sure = evidence.is_sure || evidence.for_it > 1 || !is_square(*node.truth);
    evidence.is_whole = evidence.is_whole || after == 0;
  }
  return evidence;
}

// Counts the wrong matrices of the forward pass. Gradients may be transposed for other reasons, so
// they do not count.
std::size_t wrong_in_forward(const Interpretation& interpretation) {
  return static_cast<std::size_t>(
      std::ranges::count_if(interpretation.judgement.nodes, [](const LearnerNode& node) {
        return node.step && !is_gradient(*node.step->operation) && unsettled(node) > 0;
      }));
}

// Interprets tokens as columns, in the whole submission. One transposed matrix among others is a
// slip, and so is a square one alone.
std::optional<Interpretation> as_columns(const Interpreter& interpret,
                                         const Interpretation& plain) {
  const auto& nodes = plain.judgement.nodes;
  if (!interpret.options.allow_columns || !may_be_transposed(nodes)) return {};
  Interpretation transposed =
      interpret({.transposed = Transposed::yes}, interpret.trace, plain.wrong);
  if (transposed.wrong >= plain.wrong || wrong_in_forward(transposed) > wrong_in_forward(plain))
    return {};
  const ColumnsEvidence evidence = columns_evidence(transposed, plain);
  const bool is_enough = 2 * transposed.wrong <= plain.wrong || evidence.is_whole;
  if (!is_enough || !evidence.is_sure || evidence.against >= evidence.for_it) return {};
  return transposed;
}

// Interprets the heads as the middle axis where there are as many heads as rows.
std::optional<Interpretation> with_heads_inside(const Interpreter& interpret,
                                                const Interpretation& plain) {
  if (!has_square_heads(*interpret.trace, plain.submitted)) return {};
  Interpretation inside =
      interpret({.square = SquareHeadAxis::inside}, interpret.trace, plain.wrong);
  if (inside.wrong >= plain.wrong) return {};
  const std::size_t before = plain.judgement.wrong_nodes();
  const std::size_t after = inside.judgement.wrong_nodes();
  if (after > before || (after == before && 2 * inside.wrong > plain.wrong)) return {};
  return inside;
}

}  // namespace

Interpretation best_interpretation(const Lesson& lesson, const Trace& lesson_trace,
                                   const Submission& submission, CheckOptions options) {
  const std::shared_ptr<const Trace> trace(std::shared_ptr<void>(), &lesson_trace);
  Interpreter interpret{lesson, trace, submission, std::move(options)};
  Interpretation plain = interpret({}, trace);
  if (plain.judgement.wrong_cells() == 0 || interpret.options.strict) return plain;
  interpret.options.on_matrix = {};  // progress was already reported
  Layout layout;
  if (auto transposed = as_columns(interpret, plain)) {
    layout.transposed = Transposed::yes;
    plain = std::move(*transposed);
  } else if (auto inside = with_heads_inside(interpret, plain)) {
    layout.square = SquareHeadAxis::inside;
    plain = std::move(*inside);
  }
  constexpr std::array others = {with_other_pairing, with_shifted_alibi, in_other_units,
                                 with_early_scaling};
  for (const auto other_than : others) {
    if (plain.wrong == 0) break;
    if (auto other = other_than(interpret, layout, plain)) return std::move(*other);
  }
  return plain;
}

}  // namespace qkv::inline check
