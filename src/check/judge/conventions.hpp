#pragma once

#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "check/intake/layout.hpp"
#include "check/judge/judge.hpp"
#include "lesson/lesson.hpp"
#include "trace/trace.hpp"

namespace qkv::inline check {

/// The lesson with a step taken elsewhere, as its operation's record has it
/// (`EquivalentPlacement`): the queries scaled before the product. `changed` are the steps whose
/// numbers differ from the lesson's.
struct EquivalentRecipe {
  Recipe recipe;  ///< without the givens
  std::vector<std::string> changed;
};

/// All such lessons. `trace` is the lesson worked out; its recipe's givens are not looked at.
std::vector<EquivalentRecipe> moved_step_recipes(const Recipe& recipe, const Trace& trace);

/// The lesson with ALiBi's distances counted from an end of the keys, as far as all weights stay
/// the same: under a causal mask.
std::vector<EquivalentRecipe> alibi_from_ends(const Recipe& recipe, const Trace& trace);

/// The lesson in units that are as good: its log-sum-exps to base 2, its loss added up where the
/// mean is due, or the reverse.
struct EquivalentUnits {
  std::string_view id;               ///< the convention's
  Recipe recipe;                     ///< without the givens
  std::vector<std::string> changed;  ///< whose numbers are others
  /// What goes on from those: where there are any, one of them must be there and follow. A loss by
  /// itself that was added up is a mistake.
  std::vector<std::string> following = {};
  bool needs_follower = false;
};

/// All such lessons.
std::vector<EquivalentUnits> in_equivalent_units(const Recipe& recipe);

/// Whether the lesson turns anything by its position.
bool has_rope(const Trace& trace);

/// Puts the columns of turned queries and keys (op rope) in the lesson's order where a program has
/// them in that of the other pairing, as permuted weights make them: what scores are made of them
/// is the same. Says which steps those are; none where not both queries and keys were handed in,
/// since only alike are they as good.
std::vector<std::string> accept_rope_layout(const Trace& trace,
                                            std::vector<SubmittedArray>& submitted);

/// One way to read a submission, and how it comes out.
struct Interpretation {
  std::shared_ptr<const Trace> trace;  ///< the lesson's, or that of an accepted convention
  std::vector<SubmittedArray> submitted;
  Judgement judgement;
  std::vector<std::string> scaled;    ///< steps that a convention of early scaling has changed
  std::vector<std::string> permuted;  ///< steps whose columns were taken in another order
  bool alibi_from_end = false;        ///< ALiBi's distances, by convention
  std::string_view units = {};        ///< the convention of other units that is accepted
  std::vector<std::string> in_equivalent_units = {};  ///< and the steps that have them
  Transposed turned = Transposed::no;
  std::size_t wrong = 0;
};

/// The submission as it stands, unless a convention leaves fewer wrong cells. The lesson's trace
/// and the submission must outlive it.
Interpretation best_interpretation(const Lesson& lesson, const Trace& lesson_trace,
                                   const Submission& submission, CheckOptions options);

}  // namespace qkv::inline check
