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

/// A lesson with one step moved to an equivalent place (`EquivalentPlacement`), such as queries
/// scaled before the product. `changed` are the steps whose numbers differ from the lesson's.
struct EquivalentRecipe {
  Recipe recipe;  ///< without the givens
  std::vector<std::string> changed;
};

/// Returns all such lessons. `trace` is the evaluated lesson; its recipe's givens are ignored.
std::vector<EquivalentRecipe> moved_step_recipes(const Recipe& recipe, const Trace& trace);

/// Returns the lessons with ALiBi's distances counted from an end of the keys, where all weights
/// stay the same: under a causal mask.
std::vector<EquivalentRecipe> alibi_from_ends(const Recipe& recipe, const Trace& trace);

/// The lesson in equivalent units: log-sum-exps to base 2, a summed loss instead of the mean, or
/// the reverse.
struct EquivalentUnits {
  std::string_view id;               ///< the convention's id
  Recipe recipe;                     ///< without the givens
  std::vector<std::string> changed;  ///< steps whose numbers differ
  /// Steps that depend on those. If `needs_follower`, one must be submitted and agree: a summed
  /// loss alone is a mistake.
  std::vector<std::string> following = {};
  bool needs_follower = false;
};

/// Returns all such lessons.
std::vector<EquivalentUnits> in_equivalent_units(const Recipe& recipe);

/// True if the lesson rotates queries or keys by position.
bool has_rope(const Trace& trace);

/// Reorders the columns of rotated queries and keys (op rope) from the other pairing to the
/// lesson's. Programs with permuted weights use that order, and their scores are equal. Returns the
/// reordered steps; empty unless both queries and keys were submitted, since only both together are
/// equivalent.
std::vector<std::string> accept_rope_layout(const Trace& trace,
                                            std::vector<SubmittedArray>& submitted);

/// One interpretation of a submission, with its judgement.
struct Interpretation {
  std::shared_ptr<const Trace> trace;  ///< the lesson's, or an accepted convention's
  std::vector<SubmittedArray> submitted;
  Judgement judgement;
  std::vector<std::string> scaled;    ///< steps that early scaling changes
  std::vector<std::string> permuted;  ///< steps whose columns were reordered
  bool alibi_from_end = false;        ///< an accepted convention of ALiBi's distances
  std::string_view units = {};        ///< the accepted convention of other units
  std::vector<std::string> in_equivalent_units = {};  ///< the steps in those units
  Transposed turned = Transposed::no;
  std::size_t wrong = 0;
};

/// Returns the submission as it stands, unless a convention leaves fewer wrong cells. The lesson's
/// trace and the submission must outlive the result.
Interpretation best_interpretation(const Lesson& lesson, const Trace& lesson_trace,
                                   const Submission& submission, CheckOptions options);

}  // namespace qkv::inline check
