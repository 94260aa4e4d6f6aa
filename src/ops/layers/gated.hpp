#pragma once

#include <vector>

#include "tensor/tensor.hpp"

namespace qkv {

/// What a gate makes of its numbers: SiLU, and what learners put in its place, each form of it.
/// Example: `gated_by_sigmoid(gate)` is 1 / (1 + e^(−gate)), cell by cell
std::vector<Tensor> gated_by_silu(const Tensor& gate);
std::vector<Tensor> gated_by_sigmoid(const Tensor& gate);
std::vector<Tensor> gated_by_relu(const Tensor& gate);
std::vector<Tensor> gated_by_gelu(const Tensor& gate);

}  // namespace qkv
