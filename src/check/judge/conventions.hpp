#pragma once

#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "check/intake/layout.hpp"
#include "check/judge/judge.hpp"
#include "lesson/lesson.hpp"
#include "trace/trace.hpp"

namespace qkv::inline check {

/// An equivalent lesson with steps moved, as their operation allows (`EquivalentPlacement`):
/// queries scaled before the product. Only steps in `changed` may have other numbers.
struct EquivalentRecipe {
  Recipe recipe;  ///< without the givens
  std::vector<std::string> changed;
};

/// Returns all such lessons: with every step moved, as a model of several layers does, then with
/// one alone. `trace` is the evaluated lesson; the givens of its recipe are ignored.
std::vector<EquivalentRecipe> moved_step_recipes(const Recipe& recipe, const Trace& trace);

/// Returns lessons with ALiBi's distances counted from an end of the keys, if all weights stay the
/// same: under a causal mask.
std::vector<EquivalentRecipe> alibi_from_ends(const Recipe& recipe, const Trace& trace);

/// The lesson in equivalent units: log-sum-exp to base 2, a loss summed instead of averaged, or the
/// reverse.
struct EquivalentUnits {
  std::string_view id;               ///< the convention's id
  Recipe recipe;                     ///< without the givens
  std::vector<std::string> changed;  ///< steps whose numbers differ
  /// Steps computed from those. If there are any, one must be submitted and agree: a summed loss
  /// alone is a mistake.
  std::vector<std::string> following = {};
  bool needs_follower = false;
};

/// Returns all such lessons.
std::vector<EquivalentUnits> in_equivalent_units(const Recipe& recipe);

/// A step with its constant rounded as by hand: √2 as 1.41.
struct RoundedConstant {
  std::string says;  ///< "√2 as 1.41"
  Tensor result;     ///< of the step
};

/// Returns the results of a step with its constant rounded to `decimals`, or somewhat more, but to
/// at least two digits. The constants are √d_k where scores or their gradients are divided, e in
/// softmax and exp, and ln 2 in log-sum-exp.
std::vector<RoundedConstant> rounded_constants(const Step& step, const Call& call,
                                               const Trace& trace, int decimals);

/// Returns the rotated queries and keys (op rope), and the steps that repeat or keep their columns.
std::vector<std::string> rotated_steps(const Trace& trace);

/// Reorders the columns of rotated queries and keys to the lesson's pairing, as if a program had
/// those of the other pairing, as with permuted weights. The scores are the same. Returns the
/// reordered steps.
std::vector<std::string> accept_rope_layout(const Trace& trace,
                                            std::vector<SubmittedArray>& submitted);

/// One interpretation of a submission, and its judgement.
struct Interpretation {
  std::shared_ptr<const Trace> trace;  ///< the lesson's, or an accepted convention's
  std::vector<SubmittedArray> submitted = {};
  Judgement judgement = {};
  std::vector<std::string> scaled = {};    ///< steps changed by a convention of early scaling
  std::vector<std::string> permuted = {};  ///< steps whose columns were reordered
  bool alibi_from_end = false;             ///< ALiBi's distances counted from an end, by convention
  std::string_view units = {};             ///< the accepted convention of other units
  std::vector<std::string> in_equivalent_units = {};  ///< the steps in those units
  /// Steps worked with a rounded constant, each with its text: "√2 as 1.41".
  Transposed transposed = Transposed::no;
  std::size_t wrong = 0;  ///< number of cells that are wrong or undecided
};

/// Returns the submission as it stands, unless a convention leaves fewer wrong cells. The lesson's
/// trace and the submission must outlive the result.
Interpretation best_interpretation(const Lesson& lesson, const Trace& lesson_trace,
                                   const Submission& submission, CheckOptions options);

}  // namespace qkv::inline check
