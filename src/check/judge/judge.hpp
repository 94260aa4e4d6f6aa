#pragma once

#include "check/tolerance/cell_tolerance.hpp"

namespace qkv::inline check {

enum class Verdict : unsigned char {
  correct,
  rounding,
  carried,
  undecided,  ///< rounding alone could have produced almost any number here
  wrong,
  blank,
  shape
};

/// Returns the name of a verdict in reports: "correct", "rounding", …
std::string_view verdict_name(Verdict verdict);

/// A given or step as the learner has it: the submitted numbers, and what follows from them.
struct LearnerNode {
  std::string name;
  const Tensor* truth = nullptr;
  const Step* step = nullptr;                 ///< nullptr for a given
  std::vector<std::size_t> inputs = {};       ///< indices of nodes
  const SubmittedArray* submitted = nullptr;  ///< nullptr if not submitted, or of a wrong shape
  const SubmittedArray* wrong_shape_array = nullptr;
  MatrixTolerance units = {};
  std::vector<Verdict> verdicts = {};  ///< one per cell, if submitted
  bool all_correct = false;            ///< known of a large program's matrix: none is counted
  /// The step, computed from the learner's own numbers; the lesson's if a program's agree with it.
  Tensor from_yours = {};
  Tensor own = {};  ///< the learner's numbers; from_yours if there are none
  /// The required numbers of cells where no rounding occurs; else empty or NaN.
  std::vector<double> exact = {};
  /// How far rounding can move each cell from `from_yours`, if it is farther than one unit from it;
  /// of a wrong cell, in its own direction. Empty if there is none.
  std::vector<double> room = {};
  std::string rounded_constant = {};  ///< "√2 as 1.41", if that explains its cells
  bool is_lessons = true;             ///< independent of all the learner's numbers
  /// The lesson's operands replace the learner's, because the step cannot be computed from those
  /// (for example, an id beyond the table).
  bool has_lessons_inputs = false;
  bool finite_mask = false;  ///< -1e9 or similar was written for -inf
  Tensor planted = {};       ///< its numbers, NaN where wrong or carried; no axes if no cell is

  bool is_tainted() const { return !planted.axes.empty(); }
  std::size_t count(Verdict verdict) const;  ///< of cells
  std::size_t wrong_cells() const;           ///< all cells if the shape is wrong
  std::size_t unsettled_cells() const;       ///< wrong or undecided: against an interpretation
  bool has_number(std::size_t cell) const {  ///< true if submitted and readable
    return submitted && submitted->cells[cell].is_number();
  }
  bool is_exact(std::size_t cell) const { return !exact.empty() && !std::isnan(exact[cell]); }
};

/// The whole submission, judged cell by cell.
struct Judgement {
  std::vector<LearnerNode> nodes;  ///< the givens, then the steps
  bool given_up = false;           ///< stopped early, at a hopeless node

  std::size_t wrong_nodes() const;  ///< with a wrong cell or a wrong shape
};

/// Returns the result of a step; nothing if it is impossible with these operands.
std::optional<Tensor> result_of(const Step& step, const Call& call);

/// Returns the call of a step, each operand being a node's tensor by `tensor_of`.
template <class TensorOf>
Call call_with(const LearnerNode& node, const Trace& trace, const TensorOf& tensor_of) {
  Call call = trace.call(*node.step);
  for (std::size_t k = 0; k < call.inputs.size(); ++k) call.inputs[k] = &tensor_of(node.inputs[k]);
  return call;
}

/// Returns the call of a step with the learner's own numbers, as far as they allow one.
Call own_call(const Judgement& judgement, const Trace& trace, const LearnerNode& node);

/// Returns the submitted node whose right numbers this node has, if it has this one's in turn:
/// their files were exchanged. nullptr if there is none.
const LearnerNode* exchanged_with(const Judgement& judgement, const LearnerNode& node);

struct CheckOptions {
  std::optional<int> digits = {};
  bool strict = false;        ///< conventions count as wrong
  bool accepts_nan = true;    ///< as the softmax of a row that is hidden entirely
  bool allow_columns = true;  ///< accept tokens as columns: every matrix transposed
  bool needs_loss = false;    ///< gradients of a summed loss are no convention without the loss
  bool gradients = false;     ///< report forward and backward pass separately
  bool diagnoses = true;      ///< find the mistakes behind wrong numbers
  /// Called twice for each of the lesson's matrices: when it is judged, and when it is reported.
  std::function<void()> on_matrix = {};
};

/// True for a node after which the judgement is of no use.
using IsHopeless = std::function<bool(const LearnerNode&)>;

/// Judges the matrices against the lesson; gives up after a node that is hopeless. What `known`, a
/// judgement of the same submission by a similar trace, says of the same numbers from the same
/// operands is not worked out again. `trace` and `submitted` must outlive the result.
Judgement judge(const Trace& trace, const std::vector<SubmittedArray>& submitted,
                const CheckOptions& options, const IsHopeless& is_hopeless = {},
                const Judgement* known = nullptr);

}  // namespace qkv::inline check
