#include "exposition/chosen_cell.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "text/error.hpp"
#include "trace/labels.hpp"

namespace qkv {
namespace {

bool shows(const Tensor& tensor, std::size_t row) {
  for (std::size_t j = 0; j < tensor.columns(); ++j) {
    if (std::isfinite(tensor.at(0, row, j))) return true;
  }
  return false;
}

// The third row, or the next after it that a mask has left a number; the third where none has one.
std::size_t row_that_shows(const Tensor& tensor) {
  const std::size_t third = std::min<std::size_t>(2, tensor.rows() - 1);
  for (std::size_t i = 0; i < tensor.rows(); ++i) {
    const std::size_t row = (third + i) % tensor.rows();
    if (shows(tensor, row)) return row;
  }
  return third;
}

}  // namespace

CellReference cell_of(const Lesson& lesson, const Trace& trace, const Step& step) {
  const std::string& chosen = lesson.texts[step.number - 1].cell.text;
  if (chosen.empty()) return typical_cell(step);
  try {
    const CellReference cell = find_cell(chosen, trace);
    return is_hidden(trace, step, cell) ? typical_cell(step) : cell;
  } catch (const InputError&) {  // another text may not have its words
    return typical_cell(step);
  }
}

bool is_hidden(const Trace& trace, const Step& step, const CellReference& cell) {
  constexpr double hidden = -std::numeric_limits<double>::infinity();
  if (step.output.at(cell.matrix, cell.row, cell.column) == hidden) return true;
  return std::ranges::any_of(step.of, [&](const std::string& name) {
    const Tensor& operand = trace.at(name);
    return operand.shape() == step.output.shape() &&
           operand.at(cell.matrix, cell.row, cell.column) == hidden;
  });
}

CellReference typical_cell(const Step& step) {
  const Tensor& tensor = step.output;
  CellReference cell{.name = step.name};
  cell.row = row_that_shows(tensor);
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

CellReference in_head(CellReference cell, const Trace& trace, std::optional<std::size_t> head) {
  const Tensor& tensor = trace.at(cell.name);
  for (std::size_t m = 0; head && m < tensor.matrices(); ++m) {
    if (head_of(tensor, m) != head) continue;
    cell.matrix = m;
    break;
  }
  return cell;
}

}  // namespace qkv
