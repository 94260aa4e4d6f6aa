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
  const Operation* operation = nullptr;
  std::vector<std::string> of;
  Options options;
};

/// What is to be worked out, as plain data: the givens, then the steps in order.
struct Recipe {
  TokenLayout token_layout = TokenLayout::rows;
  Environment environment;
  std::vector<std::string> tokens;  ///< row labels of whatever has a row for each token
  std::vector<Given> givens;
  std::vector<StepRecipe> steps;
  std::size_t omitted_steps =
      0;  ///< how many steps of the whole come after these and were not asked for
};

}  // namespace qkv::inline trace
