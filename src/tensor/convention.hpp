#pragma once

#include <string>

#include "tensor/tensor.hpp"

namespace qkv {

/// Whether people see a token as a row or as a column. Inside, a token is always a row.
enum class Convention { rows, columns };

/// Whether `as_shown` turns this tensor over: vectors and token ids stay as they are.
bool is_turned(const Tensor& tensor, Convention convention);

/// The tensor as people see it: turned over where tokens are columns.
Tensor as_shown(const Tensor& tensor, Convention convention);

/// The shape as people see it, "7×2".
std::string shown_shape(const Tensor& tensor, Convention convention);

}  // namespace qkv
