#include <algorithm>
#include <cmath>
#include <optional>

#include "check/intake/layout.hpp"
#include "check/judge/conventions.hpp"
#include "ops/backward_rule.hpp"
#include "trace/evaluate.hpp"

namespace qkv::inline check {
namespace {

constexpr std::size_t any_number = std::numeric_limits<std::size_t>::max();

enum class RopeLayout { lessons, other };

// Stops once `too_many` cells are wrong: such an interpretation is not better than a known one.
Interpretation interpret_as(std::shared_ptr<const Trace> trace, const Submission& submission,
                            Transposed turned, const CheckOptions& options,
                            std::vector<std::string> scaled, std::size_t too_many = any_number,
                            SquareHeadAxis square = SquareHeadAxis::first,
                            RopeLayout layout = RopeLayout::lessons) {
  Interpretation interpretation{.trace = std::move(trace),
                                .submitted = {},
                                .judgement = {},
                                .scaled = std::move(scaled),
                                .permuted = {},
                                .alibi_from_end = false,
                                .units = {},
                                .in_equivalent_units = {},
                                .turned = turned};
  interpretation.submitted = normalise_layout(submission, *interpretation.trace, turned);
  if (!options.strict && turned == Transposed::no)
    move_heads_first(*interpretation.trace, interpretation.submitted, square);
  if (layout == RopeLayout::other) {
    interpretation.permuted = accept_rope_layout(*interpretation.trace, interpretation.submitted);
    interpretation.wrong = any_number;
    if (interpretation.permuted.empty()) return interpretation;
  }
  interpretation.judgement =
      judge(*interpretation.trace, interpretation.submitted, options, too_many);
  interpretation.wrong =
      interpretation.judgement.given_up ? any_number : interpretation.judgement.wrong_cells();
  return interpretation;
}

std::size_t wrong_in(const Interpretation& interpretation, const std::string& name) {
  for (const LearnerNode& node : interpretation.judgement.nodes) {
    if (node.name == name) return node.wrong_cells();
  }
  return 0;
}

// True if most cells that distinguish the two interpretations favour the early one. They are wrong
// in the late one, or farther from it: a single slip is no convention.
bool is_clear(const Interpretation& late, const Interpretation& early, const std::string& name) {
  const auto node_of = [&](const Interpretation& interpretation) {
    return std::ranges::find_if(interpretation.judgement.nodes,
                                [&](const LearnerNode& node) { return node.name == name; });
  };
  const LearnerNode& node = *node_of(late);
  const LearnerNode& other = *node_of(early);
  if (!node.submitted || !other.submitted) return true;
  std::size_t apart = 0;
  std::size_t for_early = 0;
  for (std::size_t i = 0; i < node.verdicts.size(); ++i) {
    const double gap = std::abs(node.truth->values[i] - other.truth->values[i]);
    if (node.verdicts[i] == Verdict::blank || !(gap > node.units.tolerance(i))) continue;
    const double own = node.own.values[i];
    const bool is_nearer =
        std::abs(own - other.from_yours.values[i]) < std::abs(own - node.from_yours.values[i]);
    ++apart;
    for_early += node.verdicts[i] == Verdict::wrong || is_nearer ? 1 : 0;
  }
  return 2 * for_early >= apart;
}

// Returns the first submitted step that early scaling changes, except the scaling itself: it must
// be better. A learner who forgets to scale has scores that look scaled early, but queries that do
// not.
std::string first_changed(const Interpretation& interpretation, const EquivalentRecipe& early) {
  const auto is_there = [&](const std::string& name) {
    return std::any_of(interpretation.submitted.begin(), interpretation.submitted.end(),
                       [&](const SubmittedArray& submitted) { return submitted.name == name; });
  };
  const auto scaling = early.changed.end() - 1;
  const auto found = std::find_if(early.changed.begin(), scaling, is_there);
  return found == scaling ? "" : *found;
}

// Counts cells that are wrong or carried.
std::size_t cells_off(const Interpretation& interpretation) {
  std::size_t count = 0;
  for (const LearnerNode& node : interpretation.judgement.nodes) {
    count += static_cast<std::size_t>(std::ranges::count(node.verdicts, Verdict::carried));
  }
  return count + interpretation.wrong;
}

// True if all rotated queries and keys have fewer wrong cells with the other pairing's columns. One
// alone is a mistake.
bool supports_permuted(const Interpretation& permuted, const Interpretation& plain) {
  return !permuted.permuted.empty() && permuted.wrong < plain.wrong &&
         std::ranges::all_of(permuted.permuted, [&](const std::string& name) {
           const std::size_t before = wrong_in(plain, name);
           return before > 0 && 2 * wrong_in(permuted, name) <= before;
         });
}

// True if ALiBi's distances match better when counted from an end of the keys.
bool supports_alibi(const Interpretation& counted, const Interpretation& plain,
                    const std::vector<std::string>& changed) {
  return counted.wrong < plain.wrong && std::ranges::all_of(changed, [&](const std::string& name) {
           return 2 * wrong_in(counted, name) <= wrong_in(plain, name);
         });
}

// Evaluates another recipe with the lesson's givens.
std::shared_ptr<const Trace> trace_of(Recipe recipe, const Trace& lesson) {
  recipe.givens = lesson.givens;
  return std::make_shared<const Trace>(evaluate_all(std::move(recipe)).trace);
}

bool is_there(const Interpretation& interpretation, const std::string& name) {
  return std::ranges::any_of(interpretation.submitted, [&](const SubmittedArray& submitted) {
    return submitted.name == name;
  });
}

// True if all submitted steps that other units change match better in them.
bool supports_units(const Interpretation& other, const Interpretation& plain,
                    const EquivalentUnits& units) {
  const auto is_handed = [&](const std::string& name) { return is_there(plain, name); };
  if (units.needs_follower && std::ranges::none_of(units.following, is_handed)) return false;
  return other.wrong < plain.wrong &&
         std::ranges::all_of(units.changed, [&](const std::string& name) {
           return 2 * wrong_in(other, name) <= wrong_in(plain, name) &&
                  (wrong_in(plain, name) > 0 || !is_handed(name));
         });
}

// Interprets the submission in other units; empty if none match better.
std::optional<Interpretation> read_in_equivalent_units(const Lesson& lesson,
                                                       const Trace& lesson_trace,
                                                       const Submission& submission,
                                                       const CheckOptions& options,
                                                       const Interpretation& plain) {
  for (EquivalentUnits& units : in_equivalent_units(lesson.recipe)) {
    const auto trace = trace_of(std::move(units.recipe), lesson_trace);
    Interpretation other = interpret_as(trace, submission, plain.turned, options, {}, plain.wrong);
    if (!supports_units(other, plain, units)) continue;
    other.units = units.id;
    other.in_equivalent_units = std::move(units.changed);
    return other;
  }
  return {};
}

// Counts the wrong matrices of the forward pass. Gradients may be transposed for other reasons, so
// they do not count.
std::size_t wrong_in_forward(const Interpretation& interpretation) {
  const auto& nodes = interpretation.judgement.nodes;
  return static_cast<std::size_t>(std::ranges::count_if(nodes, [](const LearnerNode& node) {
    return node.step && !is_gradient(*node.step->operation) && node.wrong_cells() > 0;
  }));
}

// Transposing everything for one transposed matrix would spoil the others. A matrix that fits only
// as it is, or hardly fewer wrong cells, is evidence against it.
bool is_better(const Interpretation& turned, const Interpretation& plain) {
  const auto wrong_shape_array = [](const Interpretation& interpretation) {
    return std::ranges::count_if(interpretation.judgement.nodes, [](const LearnerNode& node) {
      return node.wrong_shape_array != nullptr;
    });
  };
  const std::size_t nodes = turned.judgement.wrong_nodes();
  const std::size_t plain_nodes = plain.judgement.wrong_nodes();
  return turned.wrong < plain.wrong && wrong_in_forward(turned) <= wrong_in_forward(plain) &&
         (nodes < plain_nodes ||
          (nodes == plain_nodes && wrong_shape_array(turned) <= wrong_shape_array(plain) &&
           2 * turned.wrong <= plain.wrong && cells_off(turned) < cells_off(plain)));
}

// Interprets rotated queries and keys with reordered columns, or ALiBi's distances from an end.
// Empty if neither matches better.
std::optional<Interpretation> equivalent_recipes(
    const Lesson& lesson, const std::shared_ptr<const Trace>& trace, const Submission& submission,
    const CheckOptions& options, const Interpretation& plain, const Interpretation& turned) {
  for (const Interpretation* late : {&plain, &turned}) {
    if (!has_rope(*trace) || (late == &turned && !is_better(turned, plain))) continue;
    Interpretation permuted = interpret_as(trace, submission, late->turned, options, {},
                                           late->wrong, SquareHeadAxis::first, RopeLayout::other);
    if (supports_permuted(permuted, *late)) return permuted;
  }
  for (const EquivalentRecipe& end : alibi_from_ends(lesson.recipe, *trace)) {
    Interpretation counted = interpret_as(trace_of(end.recipe, *trace), submission, plain.turned,
                                          options, {}, plain.wrong);
    counted.alibi_from_end = true;
    if (supports_alibi(counted, plain, end.changed)) return counted;
  }
  return {};
}

}  // namespace

Interpretation best_interpretation(const Lesson& lesson, const Trace& lesson_trace,
                                   const Submission& submission, CheckOptions options) {
  const std::shared_ptr<const Trace> trace(std::shared_ptr<void>(), &lesson_trace);
  Interpretation plain = interpret_as(trace, submission, Transposed::no, options, {});
  if (plain.wrong == 0 || options.strict) return plain;
  options.on_matrix = {};  // progress was already reported
  Interpretation turned = interpret_as(trace, submission, Transposed::yes, options, {},
                                       options.allow_columns ? plain.wrong : 0);
  if (has_square_heads(*trace, plain.submitted)) {
    Interpretation inside = interpret_as(trace, submission, Transposed::no, options, {},
                                         plain.wrong, SquareHeadAxis::inside);
    if (is_better(inside, plain)) return inside;
  }
  if (auto other = equivalent_recipes(lesson, trace, submission, options, plain, turned)) {
    return std::move(*other);
  }
  for (const Interpretation* late : {&plain, &turned}) {
    if (late == &turned && !is_better(turned, plain)) continue;
    auto other = read_in_equivalent_units(lesson, lesson_trace, submission, options, *late);
    if (other) return std::move(*other);
  }
  std::optional<Interpretation> best;  // among those with early scaling
  for (const EquivalentRecipe& early : moved_step_recipes(lesson.recipe, lesson_trace)) {
    const std::string first = first_changed(plain, early);
    for (const Interpretation* late : {&plain, &turned}) {
      const bool is_turned_for_nothing = late == &turned && !is_better(turned, plain);
      if (wrong_in(*late, first) == 0 || is_turned_for_nothing) continue;
      const auto other = trace_of(early.recipe, lesson_trace);
      const std::size_t to_beat = best ? best->wrong : std::min(plain.wrong, turned.wrong);
      Interpretation interpretation =
          interpret_as(other, submission, late->turned, options, early.changed, to_beat);
      const bool better = interpretation.wrong < to_beat &&
                          2 * wrong_in(interpretation, first) <= wrong_in(*late, first);
      if (better && is_clear(*late, interpretation, first)) best = std::move(interpretation);
    }
  }
  if (best) return std::move(*best);
  return is_better(turned, plain) ? std::move(turned) : std::move(plain);
}

}  // namespace qkv::inline check
