#include "interactive/matrix_blocks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "tensor/change.hpp"
#include "terminal/lines.hpp"
#include "text/wrapping.hpp"
#include "trace/labels.hpp"

namespace qkv {
namespace {

constexpr std::size_t gap = 3;
constexpr std::size_t most_rows = 40;
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

}  // namespace

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

std::vector<std::string> fitting(const Walkthrough& walk, const std::vector<MarkedMatrix>& matrices,
                                 WindowSize room, Showcase& showcase) {
  constexpr std::size_t fewest = 3;
  std::size_t largest = 0;
  for (const MarkedMatrix& e : matrices)
    largest = std::max(largest, showcase.shown(walk, e.name).rows());
  std::size_t rows = std::min({largest, most_rows, std::max(room.rows, fewest)});
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

}  // namespace qkv
