#include "interactive/cell_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "exposition/arithmetic.hpp"
#include "interactive/frame.hpp"
#include "interactive/walkthrough.hpp"
#include "tensor/compare.hpp"
#include "terminal/grid.hpp"
#include "terminal/lines.hpp"
#include "text/escape.hpp"
#include "text/number.hpp"
#include "text/strings.hpp"
#include "text/wrapping.hpp"
#include "trace/labels.hpp"

namespace qkv::inline interactive {
namespace {

/// A cell's row and column as people see the matrix.
using Spot = std::pair<std::size_t, std::size_t>;

/// One matrix that a view shows, and which of its cells are marked, as people see it.
struct MarkedMatrix {
  std::string name;
  std::size_t matrix = 0;
  Spot focus = {0, 0};
  Mark mark = Mark::used;
  std::set<Spot> marked = {};
};

/// It as lines, to stand beside others.
struct MatrixBlock {
  std::vector<std::string> lines;
  bool hides_columns = false;
  Spot first = {0, 0}, last = {0, 0};  // the corners of what shows
};

Spot as_seen(const Tensor& tensor, Convention convention, std::size_t row, std::size_t column);

/// The matrix with the lesson's own numbers; nullptr where they are the same, or can't be compared.
const Tensor* changed_from(const Walkthrough& walk, const std::string& name);

/// A matrix with its caption in so many columns and rows of the window.
MatrixBlock block_of(const Walkthrough& walk, const MarkedMatrix& one, std::size_t columns,
                     std::size_t rows, Showcase& showcase);

constexpr std::size_t gap = 3;
constexpr std::size_t most_block_rows = 40;
constexpr std::size_t wide_window = 120;  // two large matrices fit beside each other

// Those that show: ", rows 3–7 of 9"; nothing where all do.
std::string span_text(std::string_view what, const Selection& shown) {
  if (shown.hidden() == 0) return {};
  return fmt::format(", {}s {}–{} of {}", what, shown.indices.front() + 1, shown.indices.back() + 1,
                     shown.count);
}

std::function<Mark(std::size_t, std::size_t)> marks_of(const Walkthrough& walk,
                                                       const MarkedMatrix& one) {
  const Tensor& now = walk.trace().at(one.name);
  const Tensor* before = changed_from(walk, one.name);
  const Convention convention = walk.trace().convention;
  return [&one, &now, before, convention](std::size_t row, std::size_t column) {
    if (one.marked.contains({row, column})) return one.mark;
    if (!before) return Mark::none;
    const auto [r, c] = as_seen(now, convention, row, column);
    const bool changed = differs(now.at(one.matrix, r, c), before->at(one.matrix, r, c));
    return changed ? Mark::changed : Mark::none;
  };
}

// "Q (2×7×2), head 1, rows 3–7 of 7"
std::string caption_of(const Walkthrough& walk, const MarkedMatrix& one, const Grid& lines) {
  const Tensor& tensor = walk.trace().at(one.name);
  const std::string which = matrix_name(tensor, one.matrix);
  return fmt::format("{} ({}){}{}{}", one.name, shown_shape(tensor, walk.trace().convention),
                     which.empty() ? "" : ", " + which, span_text("row", lines.rows),
                     span_text("column", lines.columns));
}

// A matrix that is too wide in any case leaves room for another one where the window is wide.
std::size_t columns_for(const Walkthrough& walk, const MarkedMatrix& one, std::size_t columns,
                        Showcase& showcase) {
  if (columns < wide_window) return columns;
  return block_of(walk, one, columns, 3, showcase).hides_columns ? (columns - gap) / 2 : columns;
}

Spot as_seen(const Tensor& tensor, Convention convention, std::size_t row, std::size_t column) {
  return is_turned(tensor, convention) ? Spot{column, row} : Spot{row, column};
}

const Tensor* changed_from(const Walkthrough& walk, const std::string& name) {
  if (!walk.own()) return nullptr;
  const Tensor* before = walk.own()->find(name);
  const Tensor& after = walk.trace().at(name);
  return before && comparable(after, *before) ? before : nullptr;
}

MatrixBlock block_of(const Walkthrough& walk, const MarkedMatrix& one, std::size_t columns,
                     std::size_t rows, Showcase& showcase) {
  const Trace& trace = walk.trace();
  const Tensor& shown = showcase.shown(walk, one.name);
  const MatrixLabels labels = own_labels(trace.at(one.name), one.matrix, trace.convention);
  const Grid lines =
      grid(shown.rows(), shown.columns(), shown.cells(one.matrix), {labels.rows, labels.columns},
           {.width = columns,
            .digits = walk.digits,
            .colour = walk.colour && walk.picture != Picture::numbers,
            .most_rows = rows,
            .focus = GridFocus{one.focus.first, one.focus.second},
            .mark = marks_of(walk, one),
            .measure = &showcase.measure(walk, one.name, one.matrix)});
  MatrixBlock block{.lines = {},
                    .hides_columns = lines.columns.hidden() > 0,
                    .first = {lines.rows.indices.front(), lines.columns.indices.front()},
                    .last = {lines.rows.indices.back(), lines.columns.indices.back()}};
  const std::string caption = caption_of(walk, one, lines);
  for (const std::string& line : wrapped(caption, std::max<std::size_t>(columns, 12) - 2)) {
    block.lines.push_back("  " + line);
  }
  for (std::string& line : lines_of(lines.text)) block.lines.push_back(std::move(line));
  return block;
}

std::vector<MatrixBlock> blocks_of(const Walkthrough& walk,
                                   const std::vector<MarkedMatrix>& matrices, std::size_t columns,
                                   std::size_t rows, Showcase& showcase) {
  std::vector<MatrixBlock> blocks;
  for (const MarkedMatrix& one : matrices) {
    const std::size_t room = columns_for(walk, one, columns, showcase);
    blocks.push_back(block_of(walk, one, room, rows, showcase));
  }
  return blocks;
}

std::vector<std::string> laid_out(const std::vector<MatrixBlock>& blocks, std::size_t columns) {
  std::vector<std::vector<std::string>> lines;
  for (const MatrixBlock& block : blocks) lines.push_back(block.lines);
  return side_by_side(lines, gap, columns);
}

/// The matrices with as many rows of each as fit into the room; nothing where not even a few do.
std::vector<std::string> fitting(const Walkthrough& walk, const std::vector<MarkedMatrix>& matrices,
                                 WindowSize room, Showcase& showcase) {
  constexpr std::size_t fewest = 3;
  std::size_t largest = 0;
  for (const MarkedMatrix& e : matrices)
    largest = std::max(largest, showcase.shown(walk, e.name).rows());
  std::size_t rows = std::min({largest, most_block_rows, std::max(room.rows, fewest)});
  for (;; --rows) {
    std::vector<std::string> lines =
        laid_out(blocks_of(walk, matrices, room.columns, rows, showcase), room.columns);
    if (lines.size() <= room.rows) return lines;
    if (rows <= fewest) return {};
    // So many lines are too many: no need to try each number of rows.
    const std::size_t over = lines.size() - room.rows;
    const std::size_t step = over / (matrices.size() + 1);
    rows -= std::min(step, rows - fewest - 1);
  }
}

}  // namespace

void Showcase::keep_up(const Walkthrough& walk) {
  if (of_ == walk.now && digits_ == walk.digits) return;
  if (of_ != walk.now) turned_.clear();
  measures_.clear();
  of_ = walk.now;
  digits_ = walk.digits;
}

const Tensor& Showcase::shown(const Walkthrough& walk, const std::string& name) {
  keep_up(walk);
  const Tensor& tensor = walk.trace().at(name);
  if (!is_turned(tensor, walk.trace().convention)) return tensor;
  const auto found = turned_.find(name);
  return found != turned_.end() ? found->second
                                : turned_.emplace(name, transposed(tensor)).first->second;
}

const GridMeasure& Showcase::measure(const Walkthrough& walk, const std::string& name,
                                     std::size_t matrix) {
  keep_up(walk);
  const auto found = measures_.find({name, matrix});
  if (found != measures_.end()) return found->second;
  const Tensor& tensor =
      walk.trace().at(name);  // turning a matrix over changes none of its numbers
  return measures_.emplace(std::pair(name, matrix), measured(tensor.cells(matrix), walk.digits))
      .first->second;
}

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

}  // namespace qkv::inline interactive
