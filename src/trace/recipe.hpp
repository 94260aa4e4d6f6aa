#pragma once

#include <string>
#include <vector>

#include "ops/operation.hpp"
#include "tensor/tensor.hpp"

namespace qkv::inline trace {

struct Given {
  std::string name;
  Tensor tensor;
};

struct StepRecipe {
  std::string name;
  const Operation* operation = nullptr;  ///< nullptr if the step can't be evaluated
  std::vector<std::string> of;
  Options options;
  /// A gradient step's result or given whose gradient the first operand is; of a sum, all are.
  std::string through = {};
};

/// Throws InputError if the operation takes more or fewer operands than the step has.
void require_operand_count(const StepRecipe& step);

/// What is to be evaluated, as plain data: the givens, then the steps in order.
struct Recipe {
  TokenLayout token_layout = TokenLayout::rows;
  Environment environment;
  std::vector<std::string> tokens = {};  ///< row labels of tensors with one row per token
  std::vector<Given> givens = {};
  std::vector<StepRecipe> steps = {};
  std::size_t omitted_steps = 0;  ///< number of further steps that were not requested
};

}  // namespace qkv::inline trace
