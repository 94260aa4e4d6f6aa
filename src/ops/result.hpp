#pragma once

#include <functional>
#include <optional>
#include <string>

#include "ops/attention/visible_keys.hpp"
#include "ops/operation.hpp"
#include "tensor/tensor.hpp"

namespace qkv::inline ops {

/// A matrix on the way from the operands to the result that is worth showing: softmax's
/// exponentials. Each is one operation, with the step's options, of the part before it; the first
/// of the step's operands.
struct Intermediate {
  std::string title;
  const Operation* operation;
  Tensor tensor;
};

/// Cells of one row of a tensor: those from column `first` on.
struct RowPart {
  std::size_t matrix = 0;
  std::size_t row = 0;
  std::size_t first = 0;
  std::span<double> cells;
};

/// A result of the first operand's size that costs less than fresh memory for it does: how each of
/// its rows becomes the result's, in place.
struct InPlaceKernel {
  Tensor frame;  ///< the result without its numbers
  std::function<void(const RowPart&)> work;
  bool cell_by_cell = false;             ///< each cell for itself, so that a part of a row will do
  std::optional<MaskPattern> seen = {};  ///< where it is known before: all other cells become -inf
};

/// The lowest and highest that each cell of a tensor can be.
struct Range {
  Tensor low;
  Tensor high;
};

/// What the operation makes of the call; where that is large and cheap, it is recomputed for each
/// reader.
Tensor result_of(const Operation& operation, const Call& call);

/// Works out every cell of `output` with the cell's own maths: the fast path of an operation whose
/// cells each take a few operations.
Tensor cell_by_cell(const Call& call, Tensor output, double (*cell)(const Cell<double>&));

}  // namespace qkv::inline ops
