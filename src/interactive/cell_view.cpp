#include "interactive/cell_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "exposition/arithmetic.hpp"
#include "interactive/matrix_blocks.hpp"
#include "tensor/change.hpp"
#include "terminal/lines.hpp"
#include "text/escape.hpp"
#include "text/number.hpp"
#include "text/shell_word.hpp"
#include "trace/labels.hpp"

namespace qkv {
namespace {

constexpr std::size_t most_rows = 40;        // of the cell's matrix where the window is small
constexpr std::size_t most_rows_below = 12;  // of an operand there
constexpr std::size_t most_operands = 6;     // one for each head, of many

void collect(const Expression& term, std::vector<CellPlace>& places) {
  if (term.kind() == Expression::Kind::cell) places.push_back(term.place());
  for (const Expression& part : term.parts()) collect(part, places);
}

// The operands' matrices that the cell is made of, and which of their cells.
std::vector<MarkedMatrix> used_by(const Trace& trace, const CellReference& cell) {
  const Step& step = trace.step_at(cell.name);
  std::vector<CellPlace> places;
  collect(expression_of(trace, step, cell), places);
  std::vector<MarkedMatrix> matrices;
  for (const CellPlace& place : places) {
    const std::string& name = step.of[place.operand];
    const Spot seen = as_seen(trace.at(name), trace.convention, place.row, place.column);
    auto found = std::find_if(matrices.begin(), matrices.end(), [&](const MarkedMatrix& e) {
      return e.name == name && e.matrix == place.matrix;
    });
    if (found == matrices.end()) {
      found =
          matrices.insert(matrices.end(), {.name = name, .matrix = place.matrix, .focus = seen});
    }
    found->marked.insert(seen);
  }
  return matrices;
}

std::string changed_text(const Walkthrough& walk, const CellReference& cell) {
  const Tensor* before = changed_from(walk, cell.name);
  if (!before) return {};
  const double old = before->at(cell.matrix, cell.row, cell.column);
  const double now = walk.trace().at(cell.name).at(cell.matrix, cell.row, cell.column);
  return differs(now, old) ? fmt::format(" (was {})", brief(old, walk.digits)) : "";
}

std::vector<std::string> arithmetic_lines(const Walkthrough& walk, const CellReference& cell,
                                          WindowSize window) {
  const std::size_t terms = window.rows >= 40 ? 24 : 8;
  const CellArithmetic worked =
      arithmetic_of(walk.trace(), cell, {.digits = walk.digits, .most_terms = terms});
  const std::string names_at =
      fmt::format("qkv explain {} {}", walk.now->lesson.asked, shell_word(worked.cell));
  return lines_of(worked_text(worked, look_of(walk, window.columns), 2, visible(names_at)));
}

std::string legend(const Walkthrough& walk, bool has_operands) {
  std::string text = "  [ ] this cell";
  if (has_operands) text += "  ( ) what it is made of";
  if (walk.own()) text += "  * changed";
  return text;
}

void append(std::vector<std::string>& lines, std::vector<std::string> more) {
  std::move(more.begin(), more.end(), std::back_inserter(lines));
}

// The marked numbers by their names, where the window is too narrow for all of them to show.
std::vector<std::string> unseen_numbers(const Walkthrough& walk, const MarkedMatrix& one,
                                        const MatrixBlock& block, std::size_t columns) {
  const auto shows = [&](const Spot& spot) {
    return spot.first >= block.first.first && spot.first <= block.last.first &&
           spot.second >= block.first.second && spot.second <= block.last.second;
  };
  if (std::all_of(one.marked.begin(), one.marked.end(), shows)) return {};
  const Tensor& tensor = walk.trace().at(one.name);
  std::string text;
  for (const Spot& seen : one.marked) {
    const Spot at = as_seen(tensor, walk.trace().convention, seen.first, seen.second);
    const CellReference cell{one.name, one.matrix, at.first, at.second};
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ",
                        reference_text(cell, tensor, walk.trace().convention),
                        brief(tensor.at(cell.matrix, cell.row, cell.column), walk.digits));
  }
  std::vector<std::string> lines = {""};
  for (const std::string& line : broken(visible(text), std::max<std::size_t>(columns, 12) - 2)) {
    lines.push_back("  " + line);
  }
  return lines;
}

std::vector<MarkedMatrix> few(std::vector<MarkedMatrix> matrices) {
  if (matrices.size() > most_operands) matrices.resize(most_operands);
  return matrices;
}

}  // namespace

std::vector<std::string> cell_view(const Walkthrough& walk, const CellReference& cell,
                                   WindowSize window, Showcase& showcase) {
  const Trace& trace = walk.trace();
  const Spot seen = as_seen(trace.at(cell.name), trace.convention, cell.row, cell.column);
  const MarkedMatrix result{.name = cell.name,
                            .matrix = cell.matrix,
                            .focus = seen,
                            .mark = Mark::picked,
                            .marked = {seen}};
  const std::vector<MarkedMatrix> operands = few(used_by(trace, cell));
  std::vector<MarkedMatrix> all = {result};
  all.insert(all.end(), operands.begin(), operands.end());
  std::vector<std::string> worked = arithmetic_lines(walk, cell, window);
  worked.front() += changed_text(walk, cell);
  worked.insert(worked.begin(), "");
  worked.emplace_back();
  worked.push_back(legend(walk, !operands.empty()));
  const std::size_t room = window.rows - std::min(window.rows, worked.size());
  std::vector<std::string> lines = fitting(walk, all, {room, window.columns}, showcase);
  if (!lines.empty()) {
    append(lines, std::move(worked));
    return lines;
  }
  const std::size_t rows = std::clamp<std::size_t>(room, 5, most_rows) - 2;
  lines = block_of(walk, result, window.columns, rows, showcase).lines;
  append(lines, std::move(worked));
  lines.emplace_back();
  append(lines, laid_out(blocks_of(walk, operands, window.columns, most_rows_below, showcase),
                         window.columns));
  return lines;
}

std::vector<std::string> operands_view(const Walkthrough& walk, const CellReference& cell,
                                       WindowSize window, Showcase& showcase) {
  const std::vector<MarkedMatrix> used = used_by(walk.trace(), cell);
  std::vector<MarkedMatrix> unmarked = used;
  for (MarkedMatrix& operand : unmarked) operand.marked.clear();
  const std::vector<MatrixBlock> blocks =
      blocks_of(walk, unmarked, window.columns, most_rows_below, showcase);
  std::vector<std::string> lines = laid_out(blocks, window.columns);
  for (std::size_t i = 0; i < used.size(); ++i) {
    append(lines, unseen_numbers(walk, used[i], blocks[i], window.columns));
  }
  return lines;
}

CellReference moved(const Walkthrough& walk, CellReference cell, const CellMove& move) {
  const Tensor& tensor = walk.trace().at(cell.name);
  const auto step = [](std::size_t at, long by, std::size_t count) {
    const long to = static_cast<long>(at) + by;
    return static_cast<std::size_t>(std::clamp(to, 0L, static_cast<long>(count) - 1));
  };
  const bool turned = is_turned(tensor, walk.trace().convention);
  cell.row = step(cell.row, turned ? move.columns : move.rows, tensor.rows());
  cell.column = step(cell.column, turned ? move.rows : move.columns, tensor.columns());
  const auto count = static_cast<long>(tensor.matrices());
  const long to = (static_cast<long>(cell.matrix) + move.matrices) % count;
  cell.matrix = static_cast<std::size_t>((to + count) % count);
  return cell;
}

}  // namespace qkv
