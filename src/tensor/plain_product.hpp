#pragma once

#include "tensor/matmul.hpp"

namespace qkv {

/// a · b into `out`, each cell's products added from left to right: the same bits on every machine.
void multiply_in_order(const double* a, const double* b, double* out, ProductSize size);

/// a · bᵀ, the same way.
void multiply_transposed_in_order(const double* a, const double* b, double* out, ProductSize size);

}  // namespace qkv
