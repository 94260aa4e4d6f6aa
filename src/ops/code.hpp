#pragma once

#include <string>

#include "ops/operation.hpp"

namespace qkv::inline ops {

/// A library that computes with arrays.
enum class Library { numpy, pytorch };

/// Returns the line of Python that computes the step `call` by its operation from arrays with the
/// operands' names: `scores = Q @ np.swapaxes(K, -1, -2)`. The arrays are those of an export: with
/// tokens as columns they are transposed. Dots in names become underscores. It is a comment if no
/// line can do it.
std::string code_line(const Operation& operation, const Call& call, const Tensor& result,
                      Library library);

/// Returns sizes as code: `1, 2, 3`.
std::string code_list(std::span<const std::size_t> sizes);

/// Returns the sizes of the leading axes as code, each with a comma: `2, 3, `.
std::string code_leading(const Tensor& tensor);

}  // namespace qkv::inline ops
