#pragma once

#include "ops/operation.hpp"
#include "tensor/tensor.hpp"

namespace qkv {

/// Whether a number of the tensor is none (nan).
bool has_no_number(const Tensor& tensor);

/// Throws InputError where one of the result's is: which, and what brought it about.
void refuse_no_number(const Tensor& result, const Operation& operation, const Call& call);

}  // namespace qkv
