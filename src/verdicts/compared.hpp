#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "check/compare/compare.hpp"

/// What the text and the JSON of a comparison both tell.

namespace qkv::inline verdicts {

/// How a comparison looks on this terminal.
struct CompareStyle {
  std::size_t width = 80;
  /// What to type to find out which known mistake makes such numbers; empty where nothing can.
  std::string check_command = {};
};

/// A line for each step, what the tolerance was, and the first step that differs as
/// numpy.testing.assert_allclose reports it.
std::string compared_text(const Comparison& comparison, const ComparedSide& actual,
                          const ComparedSide& desired, const CompareStyle& style);

/// The same as JSON. Indices of its cells count from 0, as NumPy's do.
std::string compared_json(const Comparison& comparison, const ComparedSide& actual,
                          const ComparedSide& desired);

struct SamenessLabel {
  Agreement agreement;
  std::string_view in_json;
  std::string_view says;  ///< {} is the name of the side that has it
};

const SamenessLabel& sameness_label(Agreement agreement);

/// Whether its numbers could be held side by side.
bool has_compared_numbers(const ComparedStep& step);

/// Whether it is a given that only one has: a model has its weights as givens, hundreds of them,
/// and a dump of a run need not.
bool is_unmatched_given(const ComparedStep& step);

/// The tensor that knows most about its axes: a lesson names them, a dump may have axes too many.
const Tensor& best_labelled_tensor(const ComparedStep& step);

/// `scores[head 1,cat,fat]`
std::string cell_name(const ComparedStep& step, std::size_t place);

/// A place in a tensor along each of its axes, from 0.
std::vector<std::size_t> multi_index(const Tensor& tensor, std::size_t place);

/// What was compared, and what could not be: of ours, and of theirs.
struct Coverage {
  std::size_t compared = 0;
  std::vector<std::string> missing;  ///< steps of ours
  std::vector<std::string> unknown;  ///< arrays of theirs
};

Coverage coverage_of(const Comparison& comparison, const ComparedSide& actual);

}  // namespace qkv::inline verdicts
