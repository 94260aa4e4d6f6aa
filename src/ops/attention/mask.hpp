#pragma once

#include <cstddef>
#include <map>
#include <string_view>
#include <vector>

#include "ops/attention/score.hpp"
#include "ops/cell.hpp"
#include "ops/result.hpp"

namespace qkv {

/// The kind of a step of op mask: what it says, or what its operands make it.
std::string_view mask_kind(const Call& call);

/// Whether the mask hides the cell.
bool is_hidden(const CellBase& c);

/// What it hides of one matrix.
Flags hidden_by_mask(const CellBase& at);

/// Where what decides is no number, so that nothing tells what is hidden.
Flags undecided_cells(const CellBase& at);

/// What a given mask or padding hides, asked once for all heads that share it, and where it has one
/// row for all queries, once for these.
class HiddenCells {
 public:
  HiddenCells(const Call& call, const Tensor& result);

  /// Minus infinity where the row is hidden.
  void hide(const RowPart& at) const;

 private:
  std::size_t rows_ = 1;
  std::vector<std::size_t> mask_of_;  // by matrix
  std::map<std::size_t, Flags> masks_;
};

}  // namespace qkv
