#include "exposition/chosen_cell.hpp"

#include <algorithm>
#include <cmath>

#include "text/error.hpp"
#include "trace/labels.hpp"

namespace qkv {

CellReference cell_of(const Lesson& lesson, const Trace& trace, const Step& step) {
  const std::string& chosen = lesson.texts[step.number - 1].cell.text;
  if (chosen.empty()) return typical_cell(step);
  try {
    return find_cell(chosen, trace);
  } catch (const InputError&) {  // another text may not have its words
    return typical_cell(step);
  }
}

CellReference typical_cell(const Step& step) {
  const Tensor& tensor = step.output;
  CellReference cell{.name = step.name};
  cell.row = std::min<std::size_t>(2, tensor.rows() - 1);
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
