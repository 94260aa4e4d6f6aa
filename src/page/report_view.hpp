#pragma once

#include <optional>
#include <string>
#include <vector>

#include "exposition/selection.hpp"
#include "page/pattern.hpp"
#include "trace/trace.hpp"

namespace qkv {

/// What a report shows of one tensor. A large one is cut to its first and last rows and columns.
/// Everything in here is as the tensor is stored, tokens as rows.
struct TensorView {
  std::string name;
  const Tensor* tensor = nullptr;
  const Step* step = nullptr;  ///< nullptr for a given
  bool is_ids = false;         ///< its numbers name things: none is more than another
  bool one_head = false;       ///< the others were not asked for
  Selection matrices, rows, columns;

  std::array<std::size_t, 3> extents() const;
  std::vector<ShownCell> cells() const;  ///< by matrix, row and column
};

/// The view of a tensor by itself, as a given has it.
TensorView view_of(std::string name, const Tensor& tensor);

/// Of every given and step, in the order in which a walk meets them: a step's new givens stand
/// before it. Givens that no step uses are left out; of what has heads, all but `head` if one is
/// chosen.
std::vector<TensorView> views_of(const Trace& trace, std::optional<std::size_t> head = {});

}  // namespace qkv
