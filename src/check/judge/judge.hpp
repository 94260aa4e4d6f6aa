#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "check/intake/layout.hpp"
#include "check/tolerance/cell_tolerance.hpp"
#include "trace/trace.hpp"

namespace qkv::inline check {

enum class Verdict : unsigned char { correct, rounding, carried, wrong, blank, shape };

/// "correct", "rounding", … as reports name them.
std::string_view verdict_name(Verdict verdict);

/// One matrix of the lesson on the learner's side: what was handed in, and what follows from it.
struct LearnerNode {
  std::string name;
  const Tensor* truth = nullptr;
  const Step* step = nullptr;            ///< nullptr for a given
  std::vector<std::size_t> inputs = {};  ///< indices of nodes
  const SubmittedArray* submitted =
      nullptr;  ///< nullptr where nothing (or a wrong shape) was handed in
  const SubmittedArray* wrong_shape_array = nullptr;
  MatrixTolerance units = {};
  std::vector<Verdict> verdicts = {};  ///< one a cell, where something was handed in
  Tensor from_yours = {};              ///< the step worked out from the learner's own numbers
  Tensor own = {};                     ///< the learner's numbers, from_yours where there are none
  /// Cells with nothing to round: what they must be to the last digit; else empty or NaN.
  std::vector<double> exact = {};
  bool is_lessons = true;  ///< nothing of the learner's went into it
  /// No step can be made of the learner's numbers before it (an id that no table has): the lesson's
  /// stand for them.
  bool has_lessons_inputs = false;
  bool finite_mask = false;  ///< -1e9 and the like stood for -inf
  bool tainted = false;      ///< some of its cells are wrong or carried

  std::size_t wrong_cells() const;          ///< all cells of a wrong shape count
  bool has_number(std::size_t cell) const;  ///< that was handed in and read
  bool is_exact(std::size_t cell) const;
};

/// The whole submission judged cell by cell.
struct Judgement {
  std::vector<LearnerNode> nodes;  ///< the givens, then the steps
  bool given_up = false;           ///< there were too many wrong cells to go on

  std::size_t wrong_cells() const;
  std::size_t wrong_nodes() const;  ///< those with a wrong cell or of a wrong shape
};

/// The call of a step, each operand a node's tensor by `tensor_of`.
template <class TensorOf>
Call call_with(const LearnerNode& node, const Trace& trace, const TensorOf& tensor_of) {
  Call call = trace.call(*node.step);
  for (std::size_t k = 0; k < call.inputs.size(); ++k) call.inputs[k] = &tensor_of(node.inputs[k]);
  return call;
}

/// The call of a step with the learner's own numbers, as far as it can be made of them.
Call own_call(const Judgement& judgement, const Trace& trace, const LearnerNode& node);

struct CheckOptions {
  std::optional<int> digits = {};
  bool strict = false;     ///< conventions are wrong, too
  bool gradients = false;  ///< tell the way back apart from the way there
  /// Told of each of the lesson's matrices twice: when it is judged, and when it is reported.
  std::function<void()> on_matrix = {};
};

/// Judges the matrices against the lesson; gives up where as many cells as `too_many` are wrong.
/// `trace` and `submitted` must outlive the result.
Judgement judge(const Trace& trace, const std::vector<SubmittedArray>& submitted,
                const CheckOptions& options,
                std::size_t too_many = std::numeric_limits<std::size_t>::max());

}  // namespace qkv::inline check
