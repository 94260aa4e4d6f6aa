#pragma once

#include <functional>
#include <optional>
#include <string>

#include "ops/attention/visible_keys.hpp"
#include "ops/operation.hpp"
#include "tensor/tensor.hpp"

namespace qkv::inline ops {

/// An intermediate matrix worth showing, such as softmax's exponentials. Its operation, with the
/// step's options, takes the intermediate before it; the first takes the step's operands.
struct Intermediate {
  std::string title;
  const Operation* operation;
  Tensor tensor;
};

/// Cells of one row of a tensor, from column `first` on.
struct RowPart {
  std::size_t matrix = 0;
  std::size_t row = 0;
  std::size_t first = 0;
  std::span<double> cells;
};

/// Computes each row of a result in place of the first operand's: cheaper than fresh memory.
struct InPlaceKernel {
  Tensor frame;  ///< the result's axes, without values
  std::function<void(const RowPart&)> work;
  bool cell_by_cell = false;             ///< cells are independent: a part of a row can be computed
  std::optional<MaskPattern> seen = {};  ///< if known in advance: all other cells become -inf
};

/// The lowest and highest value of each cell of a tensor.
struct Range {
  Tensor low;
  Tensor high;
};

/// Returns the operation's result; lazy, recomputed for each reader, if it is large and cheap.
Tensor result_of(const Operation& operation, const Call& call);

/// Returns `output`, computed cell by cell: fast enough for operations of few additions per cell.
Tensor cell_by_cell(const Call& call, Tensor output, double (*cell)(const Cell<double>&));

}  // namespace qkv::inline ops
