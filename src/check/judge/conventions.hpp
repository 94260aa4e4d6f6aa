#pragma once

#include "check/judge/judge.hpp"

namespace qkv::inline check {

/// The order of columns of rotated queries and keys.
enum class ColumnOrder { lessons, other_pairing, any };

/// Another way to lay out or to compute the lesson's results.
struct Variant {
  std::optional<Recipe> recipe = {};           ///< its givens are ignored; empty: the lesson's own
  ColumnOrder columns = ColumnOrder::lessons;  ///< of those changed
  std::vector<std::string> changed = {};       ///< the only forward steps with other numbers
  std::vector<std::string> deciding = {};      ///< steps that show it; empty: those changed
  std::vector<std::string> companions = {};    ///< they must not contradict
  std::size_t least = 1;                       ///< how many of the deciding steps must show it
  /// Of at least one of these pairs, if there are any, a step of each side must show it.
  std::vector<std::array<std::vector<std::string>, 2>> alike = {};
  /// Steps that need not be right, but must be nearer to what follows from their operands.
  std::vector<std::string> nearer = {};
  /// Of a variant that joins two conventions: the steps that the other one explains, with its id.
  std::map<std::string, std::string_view> others = {};
};

/// Returns the lesson's step that a step of a variant's recipe belongs to. A variant may compute
/// one in several steps: their names are the lesson's and more words, as in "Q before".
std::string_view lesson_step_of(std::string_view name);

/// An accepted other way to write results.
struct Convention {
  std::string_view id;  ///< "convention.lse-base"
  /// "The logarithms have base 2: accepted."; {} is the layout of tokens, or a rounded constant.
  std::string_view says;
  /// Returns all variants; nullptr if each matrix is accepted by itself.
  std::vector<Variant> (*variants)(const Recipe& recipe, const Trace& trace) = nullptr;
};

/// Returns all conventions, in the order in which they are tried.
std::span<const Convention> all_conventions();

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

/// Puts the columns of these queries and keys, rotated or not yet, in the lesson's order, as if a
/// program had those of the other pairing, or any order that all share. The scores are the same.
/// Names of other steps are passed over.
void accept_rope_layout(const Trace& trace, std::vector<std::string> names, ColumnOrder order,
                        std::vector<SubmittedArray>& submitted);

/// One interpretation of a submission, and its judgement.
struct Interpretation {
  std::shared_ptr<const Trace> trace;  ///< the lesson's, or with the accepted conventions
  Recipe recipe = {};                  ///< of the trace
  Layout layout = {};
  std::vector<SubmittedArray> submitted = {};
  Judgement judgement = {};
  /// The accepted conventions, by the steps that they lay out or compute otherwise.
  std::map<std::string, std::string_view, std::less<>> conventions = {};
  std::size_t wrong = 0;  ///< number of cells that are wrong or undecided

  /// Returns the id of the convention that a matrix follows; empty if there is none.
  std::string_view convention_of(const LearnerNode& node) const;
};

/// Returns the submission as it stands, unless a convention leaves fewer wrong cells. The lesson's
/// trace and the submission must outlive the result.
Interpretation best_interpretation(const Lesson& lesson, const Trace& lesson_trace,
                                   const Submission& submission, CheckOptions options);

}  // namespace qkv::inline check
