#pragma once

#include <functional>
#include <span>

#include "tensor/tensor.hpp"

namespace qkv {

/// Calls `fill(matrix, row, cells)` for every row of `output`, several at a time where it is large:
/// `operations` is about how many additions or copies a cell costs.
void row_by_row(Tensor& output, std::size_t operations,
                const std::function<void(std::size_t, std::size_t, std::span<double>)>& fill);

}  // namespace qkv
