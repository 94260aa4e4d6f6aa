#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lesson/lesson.hpp"
#include "trace/reference.hpp"
#include "trace/trace.hpp"

namespace qkv::inline exposition {

/// Which of `count` rows or columns show, in order: some from the beginning and some from the end
/// with the rest hidden between them, or those around a cell.
struct Selection {
  std::vector<std::size_t> indices;
  std::size_t count = 0;

  std::size_t shown() const { return indices.size(); }
  std::size_t hidden() const { return count - shown(); }
  std::size_t first_hidden() const;  ///< from 1; 0 where none is
  std::size_t operator[](std::size_t place) const { return indices[place]; }
  auto begin() const { return indices.begin(); }
  auto end() const { return indices.end(); }
  bool follows_gap(std::size_t place) const {
    return place > 0 && indices[place] != indices[place - 1] + 1;
  }
};

/// Those that are hidden: "rows 3–7", "row 3", with `to` between the first and the last; empty
/// where none is.
std::string hidden_text(std::string_view what, const Selection& selection, std::string_view to);

/// So many of them, from both ends.
Selection selected(std::size_t shown, std::size_t count);

/// So many of them: the first ones, and the last.
Selection first_and_last(std::size_t shown, std::size_t count);

/// So many of them that follow one another.
Selection contiguous_selection(std::size_t first, std::size_t shown, std::size_t count);

/// At most so many lines, that of the ⋮ counted; the first and the last row always show.
Selection selected_rows(std::size_t rows, std::size_t most);

/// At most so many rows with the focus in their middle, but for the ends.
Selection rows_around(std::size_t focus, std::size_t rows, std::size_t most);

/// The cell that a step is explained by: the lesson's choice, or where it has none, or chose one
/// that is hidden by now, a typical one.
CellReference cell_of(const Lesson& lesson, const Trace& trace, const Step& step);

/// A typical cell: the third row's largest number, or where all of that is hidden another row's.
CellReference representative_cell(const Step& step);

/// Whether a mask hides the cell, or hid the score that it was made of.
bool is_masked_cell(const Trace& trace, const Step& step, const CellReference& cell);

/// The same cell in the head that is looked at, if there is one and its matrix has heads.
CellReference in_head(CellReference cell, const Trace& trace, std::optional<std::size_t> head);

}  // namespace qkv::inline exposition
