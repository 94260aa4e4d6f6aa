#include "exposition/selection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "text/error.hpp"
#include "trace/labels.hpp"

namespace qkv::inline exposition {
namespace {

bool shows(const Tensor& tensor, std::size_t row) {
  for (std::size_t j = 0; j < tensor.columns(); ++j) {
    if (std::isfinite(tensor.at(0, row, j))) return true;
  }
  return false;
}

// The first row from the third on with an unmasked number; else the third.
std::size_t unmasked_row(const Tensor& tensor) {
  const std::size_t third = std::min<std::size_t>(2, tensor.rows() - 1);
  for (std::size_t i = 0; i < tensor.rows(); ++i) {
    const std::size_t row = (third + i) % tensor.rows();
    if (shows(tensor, row)) return row;
  }
  return third;
}

// The cell of the third row's largest number, or of another row's if that is masked.
CellReference representative_cell(const Step& step) {
  const Tensor& tensor = step.output;
  CellReference cell{.name = step.name};
  if (tensor.values.empty()) return cell;
  cell.row = unmasked_row(tensor);
  double best = -1;
  for (std::size_t j = 0; j < tensor.columns(); ++j) {
    const double size = std::abs(tensor.at(0, cell.row, j));
    if (std::isfinite(size) && size > best) {
      best = size;
      cell.column = j;
    }
  }
  return cell;
}

}  // namespace

CellReference cell_of(const Lesson& lesson, const Trace& trace, const Step& step) {
  const std::string& chosen = lesson.texts[step.number - 1].cell.text;
  if (chosen.empty()) return representative_cell(step);
  try {
    const CellReference cell = find_cell(chosen, trace);
    return is_masked_cell(trace, step, cell) ? representative_cell(step) : cell;
  } catch (const InputError&) {  // another text may lack its tokens
    return representative_cell(step);
  }
}

bool is_masked_cell(const Trace& trace, const Step& step, const CellReference& cell) {
  constexpr double hidden = -std::numeric_limits<double>::infinity();
  if (step.output.at(cell.matrix, cell.row, cell.column) == hidden) return true;
  return std::ranges::any_of(step.of, [&](const std::string& name) {
    const Tensor& operand = trace.at(name);
    return operand.shape() == step.output.shape() &&
           operand.at(cell.matrix, cell.row, cell.column) == hidden;
  });
}

CellReference in_head(CellReference cell, const Trace& trace, std::optional<std::size_t> head) {
  const Tensor& tensor = trace.at(cell.name);
  for (std::size_t m = 0; head && m < tensor.matrices(); ++m) {
    if (head_of(tensor, m) != head) continue;
    cell.matrix = m;
    break;
  }
  return cell;
}

std::size_t Selection::first_hidden() const {
  if (hidden() == 0) return 0;
  std::size_t place = 0;
  while (place < shown() && indices[place] == place) ++place;
  return place + 1;
}

std::string hidden_text(std::string_view what, const Selection& selection, std::string_view to) {
  if (selection.hidden() == 0) return {};
  const std::size_t first = selection.first_hidden();
  if (selection.hidden() == 1) return fmt::format("{} {}", what, first);
  return fmt::format("{}s {}{}{}", what, first, to, first + selection.hidden() - 1);
}

Selection selected(std::size_t shown, std::size_t count) {
  Selection selection{.indices = {}, .count = count};
  const std::size_t front = shown - shown / 2;
  for (std::size_t place = 0; place < shown; ++place) {
    selection.indices.push_back(place < front ? place : count - shown + place);
  }
  return selection;
}

Selection first_and_last(std::size_t shown, std::size_t count) {
  Selection selection = contiguous_selection(0, shown, count);
  if (shown > 0) selection.indices.back() = count - 1;
  return selection;
}

Selection contiguous_selection(std::size_t first, std::size_t shown, std::size_t count) {
  Selection selection{.indices = {}, .count = count};
  for (std::size_t i = 0; i < shown; ++i) selection.indices.push_back(first + i);
  return selection;
}

Selection selected_rows(std::size_t rows, std::size_t most) {
  if (rows <= std::max<std::size_t>(most, 2)) return selected(rows, rows);
  return selected(std::max<std::size_t>(most, 3) - 1, rows);
}

Selection rows_around(std::size_t focus, std::size_t rows, std::size_t most) {
  const std::size_t shown = std::clamp<std::size_t>(most, 1, rows);
  const std::size_t before = std::min(focus, shown / 2);
  return contiguous_selection(std::min(focus - before, rows - shown), shown, rows);
}

}  // namespace qkv::inline exposition
