#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "exposition/selection.hpp"
#include "lesson/lesson.hpp"
#include "page/cell_bytecode.hpp"
#include "trace/trace.hpp"

namespace qkv::inline page {

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

/// Every shown matrix of a tensor as a table of shaded numbers, `digits` decimals, with a caption
/// (`caption`, then head and shape) and labels. `mark` is the attribute that says which tensor of
/// the report's data has the cells' arithmetic, ` data-tensor="3"`; without one there is none. What
/// a large tensor leaves out is said below, with `whole`, the command that shows it.
std::string heatmaps(const TensorView& view, TokenLayout token_layout, int digits,
                     const std::string& caption, const std::string& mark, const std::string& whole);

/// The trace with what lies on the way to its results as steps of their own, each before the step
/// that it leads to: softmax's exponentials have an arithmetic and are read, as any matrix's cells.
/// Of steps that the lesson does not show there are none.
Trace with_intermediates(const Lesson& lesson, const Trace& trace);

/// What such a step is called: no name of a lesson's own has a line break.
std::string intermediate_name(std::string_view step, std::string_view title);

/// A name as people see it: of a step that is on the way its title.
std::string_view display_name(std::string_view name);

}  // namespace qkv::inline page
