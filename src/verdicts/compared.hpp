#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "check/compare/compare.hpp"

/// The report of a comparison, as text and as JSON.

namespace qkv::inline verdicts {

/// Display options of a comparison.
struct CompareStyle {
  std::size_t width = 80;
  bool all = false;  ///< list the matrices that only one side has
  /// The command that finds the known mistake behind the numbers; empty if there is none.
  std::string check_command = {};
};

/// Returns a line for each step, the tolerance, and the first step that differs, as in
/// numpy.testing.assert_allclose.
std::string compared_text(const Comparison& comparison, const ComparedSide& actual,
                          const ComparedSide& desired, const CompareStyle& style);

/// Returns the same as JSON. Cell indices count from 0, as in NumPy.
std::string compared_json(const Comparison& comparison, const ComparedSide& actual,
                          const ComparedSide& desired);

struct SamenessLabel {
  Agreement agreement;
  std::string_view in_json;
  std::string_view in_text;  ///< {} is the name of the side that has it
};

const SamenessLabel& sameness_label(Agreement agreement);

/// True if the numbers of both sides could be compared.
bool has_compared_numbers(const ComparedStep& step);

/// Returns the tensor with named or labelled axes; of two alike, the one of lower rank.
const Tensor& best_labelled_tensor(const ComparedStep& step);

/// Returns the name of a cell: `scores[head 1,cat,fat]`
std::string cell_name(const ComparedStep& step, std::size_t place);

/// Returns a cell's index along each axis of the tensor, from 0.
std::vector<std::size_t> multi_index(const Tensor& tensor, std::size_t place);

/// Returns the largest difference of two finite numbers in units in the last place of the array's
/// type, or of its last decimal.
double largest_in_last_places(const ComparedStep& step);

/// What was compared, and what could not be, on our side and theirs.
struct Coverage {
  std::size_t compared = 0;
  std::vector<std::string> missing;  ///< steps of ours
  std::vector<std::string> unknown;  ///< arrays of theirs
};

Coverage coverage_of(const Comparison& comparison, const ComparedSide& actual);

}  // namespace qkv::inline verdicts
