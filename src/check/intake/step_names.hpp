#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lesson/library.hpp"
#include "trace/trace.hpp"

namespace qkv::inline check {

/// The step or given that a file holds, and which of its matrices.
struct StepName {
  std::string name;                       ///< the lesson's name
  std::vector<std::size_t> leading = {};  ///< of "scores.head-2": {1}; empty for all matrices
};

/// Returns the name without capitals, blanks, dashes and dots. A gradient's name becomes d…, also
/// from grad_Q or Q.grad.
std::string loose_name(std::string_view name);

/// Finds the step for a file's stem or an array's key: as exported ("06-scores.head-2") or similar
/// ("Scores head 2", "scores_h2"). Empty if no step matches. Throws InputError, which names `file`,
/// if the step has no such matrix.
std::optional<StepName> step_name(std::string_view stem, const Trace& trace,
                                  const std::string& file);

/// Returns the given or step whose gradient has this name: "K" for "dK", "grad_K" or "K.grad".
std::optional<std::string_view> name_of_gradient(std::string_view name, const Trace& trace);

/// Returns the names of all givens and steps, in order.
std::vector<std::string_view> names_in(const Trace& trace);

/// Returns a file name for one matrix of a step: "Q.csv", "Q.head-1.csv".
std::string example_file(const std::string& name, const Tensor& tensor);

/// Appends the gradients of all steps and givens to a lesson, so that submitted gradients can be
/// judged. A lesson that has gradients is unchanged. They start at its loss: a last step of one
/// number, or one that is named loss or is a cross-entropy. Without a loss they start at the last
/// step with a submitted gradient (d_output, grad_output, output.grad), taken as given. Throws
/// InputError if there is none, if it lacks a number or has another shape than the step, or if
/// several paths might start differently.
LoadedLesson with_gradients(LoadedLesson loaded, const std::vector<std::string>& paths);

}  // namespace qkv::inline check
