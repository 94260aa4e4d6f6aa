#pragma once

#include "lesson/library.hpp"

namespace qkv::inline check {

/// The step or given that a file holds, and which of its matrices.
struct StepName {
  std::string name;                       ///< as in the lesson
  std::vector<std::size_t> leading = {};  ///< of "scores.head-2": {1}; empty for all matrices
};

/// Returns the name for loose comparison: without capitals, blanks, dashes and dots. The names that
/// programs give the gradient of Q, grad_Q and Q.grad, become dq.
std::string loose_name(std::string_view name);

/// Returns what a file's stem, or an array's key, stands for: an exported name ("06-scores.head-2")
/// or nearly one ("Scores head 2", "scores_h2"). Nothing if no step has such a name. Throws
/// InputError, which names `file`, if the step has no such matrix.
std::optional<StepName> step_name(std::string_view stem, const Trace& trace,
                                  const std::string& file);

/// Returns the given or step whose gradient has this name: "K" for "dK", "grad_K" or "K.grad".
std::optional<std::string_view> name_of_gradient(std::string_view name, const Trace& trace);

/// True if the name is of a given, such as a weight, or of its gradient.
bool is_of_given(std::string_view name, const Trace& trace);

/// Returns the names of all givens and steps, in order.
std::vector<std::string_view> names_in(const Trace& trace);

/// Returns an example of a file name for one matrix of a step: "Q.csv", "Q.head-1.csv".
std::string example_file(const std::string& name, const Tensor& tensor);

/// A name map "theirs=ours". Each * of `ours` stands for what the * of `theirs` in the same place
/// stands for: text without a dot.
struct NameMap {
  std::string theirs;
  std::string ours;
};

/// How the names of a program's arrays are understood.
struct NameOptions {
  std::optional<std::string> scheme = {};  ///< without one, whichever explains most of them
  std::vector<NameMap> maps = {};          ///< the most specific first
};

/// A name as a map gives it, and which map.
struct MappedName {
  std::size_t map = 0;
  std::string name;
};

/// Returns what the first map that matches makes of a name; nothing if none matches.
std::optional<MappedName> mapped_name(const std::vector<NameMap>& maps, std::string_view name);

/// The names that `--names` takes: of the schemes of other programs, in the order of the table.
std::vector<std::string> scheme_names();

/// Returns the steps that an array of another program stands for by its name alone, in any scheme:
/// several if it holds them side by side, none if no scheme has the name.
std::vector<std::string> steps_by_scheme(std::string_view name, const Trace& trace);

/// Gives arrays of another program the lesson's names, by the scheme that explains most of them, or
/// by the one called `wanted`. Arrays whose name is a step's, or `is_mapped`, keep it. An array
/// that holds several steps side by side (c_attn: Q, K and V) is cut. Returns what to report, empty
/// if no scheme fits. Throws InputError if `wanted`, one of scheme_names(), explains no array.
std::string adopt_scheme(const std::optional<std::string>& wanted, const Trace& trace,
                         const std::function<bool(std::string_view)>& is_mapped,
                         std::vector<NamedArray>& arrays);

}  // namespace qkv::inline check
