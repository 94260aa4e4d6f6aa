#pragma once

#include <string>
#include <vector>

#include "render/pattern.hpp"
#include "trace/trace.hpp"

namespace qkv {

/// What a report shows of one tensor. A large one is cut to its first and last rows and columns.
/// Everything in here is as the tensor is stored, tokens as rows.
struct TensorView {
  std::string name;
  const Tensor* tensor = nullptr;
  const Step* step = nullptr;                        ///< nullptr for a given
  std::vector<std::size_t> matrices, rows, columns;  ///< the indices shown

  std::array<std::size_t, 3> extents() const;
  std::vector<ShownCell> cells() const;  ///< by matrix, row and column
};

/// The view of a tensor by itself, as a given has it.
TensorView view_of(std::string name, const Tensor& tensor);

/// Of every given and step, in the order in which a walk meets them: a step's new givens stand
/// before it. Givens that no step uses are left out.
std::vector<TensorView> views_of(const Trace& trace);

/// The first index after the ones left out, as a place among those shown; 0 where none is.
std::size_t gap_in(const std::vector<std::size_t>& shown);

}  // namespace qkv
