#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "ops/expression.hpp"
#include "tensor/tensor.hpp"

namespace qkv {

/// How much of a matrix a slip can spoil in one go.
enum class Reach { anything, line };

/// A slip of the pen made on a whole matrix: what every cell would be. NaN where the slip has no
/// meaning.
struct SlipVersion {
  std::string_view id;
  std::string_view says;
  std::string_view hint;
  Reach reach = Reach::anything;
  std::vector<Tensor> versions;
};

/// What slips need to know of a step.
struct SlipContext {
  const Tensor* right = nullptr;                     ///< the step from the learner's own numbers
  int decimals = 0;                                  ///< that the learner writes
  std::vector<std::vector<std::size_t>> wrong_rows;  ///< of each matrix, from 0
  /// The arithmetic of a cell from the learner's own numbers; empty for a given.
  std::function<Expression(std::size_t matrix, std::size_t row, std::size_t column)> arithmetic;
  /// Cells whose arithmetic is worth the time; the others stay NaN in dropped terms.
  std::vector<bool> near_wrong;
};

/// The slips that reach at least so far, with the numbers that they make of `right`.
std::vector<SlipVersion> slip_versions(const SlipContext& context, Reach least);

/// The ids of all slips.
std::vector<std::string_view> all_slip_ids();

}  // namespace qkv
