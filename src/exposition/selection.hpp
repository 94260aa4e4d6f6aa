#pragma once

#include "lesson/lesson.hpp"

namespace qkv::inline exposition {

/// Which of `count` rows or columns are shown: some from each end, or those around a cell.
struct Selection {
  std::vector<std::size_t> indices;
  std::size_t count = 0;

  std::size_t shown() const { return indices.size(); }
  std::size_t hidden() const { return count - shown(); }
  std::size_t first_hidden() const;  ///< from 1; 0 if none is
  std::size_t operator[](std::size_t place) const { return indices[place]; }
  auto begin() const { return indices.begin(); }
  auto end() const { return indices.end(); }
  bool follows_gap(std::size_t place) const {
    return place > 0 && indices[place] != indices[place - 1] + 1;
  }
};

/// Returns the hidden ones as text: "rows 3–7", "row 3"; `to` joins the ends. Empty if none.
std::string hidden_text(std::string_view what, const Selection& selection, std::string_view to);

/// Selects `shown` of `count`, from both ends.
Selection selected(std::size_t shown, std::size_t count);

/// Selects `shown` of `count`: the first ones, and the last.
Selection first_and_last(std::size_t shown, std::size_t count);

/// Selects `shown` consecutive ones from `first`.
Selection contiguous_selection(std::size_t first, std::size_t shown, std::size_t count);

/// Returns the cell that explains a step: the lesson's choice, or else a representative one.
CellReference cell_of(const Lesson& lesson, const Trace& trace, const Step& step);

/// True if the step is a mask and hides cell `i`: its first operand has a number there.
bool hides(const Trace& trace, const Step& step, std::size_t i);

/// True if a mask of an earlier step hides the cell, or the score behind it.
bool is_masked_cell(const Trace& trace, const Step& step, const CellReference& cell);

/// Returns the same cell in the chosen head, if there is one and the matrix has heads.
CellReference in_head(CellReference cell, const Trace& trace, std::optional<std::size_t> head);

/// True if a step needs the numbers of operand `k`, not only its shape: a gradient has the shape of
/// the operand that it belongs to.
bool needs_numbers(const Trace& trace, const Step& step, std::size_t k);

/// What a worksheet does with a cell. Of a part of a lesson most cells are unused.
enum class CellUse : std::uint8_t { unused, given, asked };

/// Which cells a worksheet is to ask for; without any, all cells of all steps.
struct WorksheetRequest {
  std::vector<std::size_t> steps = {};   ///< by index in the trace
  std::optional<std::size_t> head = {};  ///< only what has heads, this one; from 0
  std::string row = {};                  ///< the token of a row, its label or its number from 1

  bool is_part() const { return !steps.empty() || head || !row.empty(); }
};

/// The cells of a worksheet. It gives the operands' cells that the arithmetic of an asked cell
/// reads, unless it asks for them, too; of the lesson's givens it gives whole matrices.
struct WorksheetCells {
  std::map<std::string, std::vector<CellUse>, std::less<>> uses;  ///< by tensor, row by row
  std::size_t asked = 0;                                          ///< how many cells it asks for
  Trace trace;  ///< the steps that it asks for; the results of others are givens

  /// Returns the uses of the cells of one matrix, in display layout.
  std::vector<CellUse> shown_uses(const std::string& name, const Tensor& tensor, std::size_t matrix,
                                  TokenLayout token_layout) const;
  /// True if the worksheet has a cell of the tensor with that use.
  bool has(const std::string& name, CellUse use) const;
};

/// Throws InputError if no step has the row, if its label stands at several rows, or if nothing is
/// left to ask for.
WorksheetCells worksheet_cells(const Trace& trace, const WorksheetRequest& request);

}  // namespace qkv::inline exposition
