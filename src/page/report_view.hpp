#pragma once

#include "exposition/selection.hpp"
#include "lesson/lesson.hpp"
#include "page/cell_trees.hpp"
#include "trace/trace.hpp"

namespace qkv::inline page {

/// The part of a tensor that a report shows: large ones lose their middle rows and columns. Indices
/// are in storage order (tokens as rows).
struct TensorView {
  std::string name;
  const Tensor* tensor = nullptr;
  const Step* step = nullptr;  ///< nullptr for a given
  bool is_ids = false;         ///< its numbers are names without an order
  bool one_head = false;       ///< only one head is shown
  Selection matrices, rows, columns;

  std::vector<CellIndex> cells() const;  ///< by matrix, row and column
};

/// Returns the view of a tensor by itself, such as a given.
TensorView view_of(std::string name, const Tensor& tensor);

/// Returns the views of all givens and steps in walk order: a step's new givens come before it.
/// Unused givens are left out, and so are other heads if `head` is chosen.
std::vector<TensorView> views_of(const Trace& trace, std::optional<std::size_t> head = {});

/// Returns every shown matrix as a table of shaded numbers with a caption (`caption`, head and
/// shape) and labels. `mark` is the attribute that links the cells to a tensor of the report's
/// data, ` data-tensor="3"`; empty for none. If the tensor is not shown in full, a line below says
/// so, with the command `whole` that shows it.
std::string heatmaps(const TensorView& view, TokenLayout token_layout, int digits,
                     const std::string& caption, const std::string& mark, const std::string& whole);

/// Returns the trace with each step's intermediates, such as softmax's exponentials, inserted as
/// steps before it: their cells have arithmetic, too. Steps that the lesson hides have none.
Trace with_intermediates(const Lesson& lesson, const Trace& trace);

/// Returns the internal name of an intermediate; it contains a line break, so no lesson can use it.
std::string intermediate_name(std::string_view step, std::string_view title);

/// Returns the displayed name: an intermediate's title, or the name itself.
std::string_view display_name(std::string_view name);

}  // namespace qkv::inline page
