#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lesson/library.hpp"
#include "trace/trace.hpp"

namespace qkv::inline check {

/// Which step or given a file holds, and which of its matrices.
struct StepName {
  std::string name;                       ///< as the lesson has it
  std::vector<std::size_t> leading = {};  ///< of "scores.head-2": {1}; empty for all matrices
};

/// The name without what does not tell names apart: capitals, blanks, dashes and dots. The gradient
/// of Q is dq, also where a program calls it grad_Q or Q.grad.
std::string loose_name(std::string_view name);

/// What a file's stem, or the key of an array in it, means in the lesson: written as exported
/// ("06-scores.head-2"), or nearly so ("Scores head 2", "scores_h2"). Nothing where no step has
/// such a name. Throws InputError, which names `file`, where the step has no such matrix.
std::optional<StepName> step_name(std::string_view stem, const Trace& trace,
                                  const std::string& file);

/// The given or step that this is the name of the gradient of: "K" for "dK", "grad_K" or "K.grad".
std::optional<std::string_view> name_of_gradient(std::string_view name, const Trace& trace);

/// The names of all givens and steps, in order.
std::vector<std::string_view> names_in(const Trace& trace);

/// How the file of one matrix of a step is named: "Q.csv", "Q.head-1.csv".
std::string example_file(const std::string& name, const Tensor& tensor);

/// The lesson with the gradients of all steps and givens behind its own steps, so that a submission
/// that has them can be judged; a lesson that walks back already is left as it is. They begin at
/// its loss, a last step of one number, or one that is called loss or is a cross-entropy. Without
/// one they begin at the last step whose gradient was handed in (d_output, grad_output,
/// output.grad), and that is taken as it is. Throws InputError where nothing was, where that has
/// not the step's shape or a number is missing in it, and where several paths were handed in, which
/// might begin at several.
LoadedLesson with_gradients(LoadedLesson loaded, const std::vector<std::string>& paths);

}  // namespace qkv::inline check
