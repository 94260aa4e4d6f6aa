#include "stepping/cell_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include "render/arithmetic.hpp"
#include "render/text.hpp"
#include "tensor/change.hpp"
#include "trace/labels.hpp"

namespace qkv {
namespace {

constexpr std::size_t gap = 3;
constexpr std::size_t most_rows = 40;
constexpr std::size_t most_rows_below = 12;  // of an operand where there is no room for all
constexpr std::size_t most_operands = 6;     // one for each head, of many
constexpr std::size_t wide_window = 120;     // two large matrices fit beside each other

using Spot = std::pair<std::size_t, std::size_t>;

// One matrix that a view shows, and which of its cells are marked, as people see it.
struct Exhibit {
  std::string name;
  std::size_t matrix = 0;
  Spot focus = {0, 0};
  Mark mark = Mark::used;
  std::set<Spot> marked = {};
};

// Lines that stand beside others.
struct Block {
  std::vector<std::string> lines;
  std::size_t width = 0;
  bool hides_columns = false;
  Spot first = {0, 0}, last = {0, 0};  // the corners of what shows
};

void collect(const Expression& term, std::vector<CellPlace>& places) {
  if (term.kind() == Expression::Kind::cell) places.push_back(term.place());
  for (const Expression& part : term.parts()) collect(part, places);
}

Spot as_seen(const Tensor& tensor, Convention convention, std::size_t row, std::size_t column) {
  return is_turned(tensor, convention) ? Spot{column, row} : Spot{row, column};
}

// The operands' matrices that the cell is made of, and which of their cells.
std::vector<Exhibit> used_by(const Trace& trace, const CellReference& cell) {
  const Step& step = trace.step_at(cell.name);
  std::vector<CellPlace> places;
  collect(expression_of(trace, step, cell), places);
  std::vector<Exhibit> exhibits;
  for (const CellPlace& place : places) {
    const std::string& name = step.of[place.operand];
    const Spot seen = as_seen(trace.at(name), trace.convention, place.row, place.column);
    auto found = std::find_if(exhibits.begin(), exhibits.end(), [&](const Exhibit& e) {
      return e.name == name && e.matrix == place.matrix;
    });
    if (found == exhibits.end()) {
      found =
          exhibits.insert(exhibits.end(), {.name = name, .matrix = place.matrix, .focus = seen});
    }
    found->marked.insert(seen);
  }
  return exhibits;
}

std::string span_text(std::string_view what, std::size_t first, std::size_t last,
                      std::size_t count) {
  if (first == 1 && last == count) return {};
  return fmt::format(", {}s {}–{} of {}", what, first, last, count);
}

// The matrix with the lesson's own numbers; nullptr where they are the same, or can't be compared.
const Tensor* changed_from(const Walkthrough& walk, const std::string& name) {
  if (!walk.own()) return nullptr;
  const Tensor* before = walk.own()->find(name);
  const Tensor& after = walk.trace().at(name);
  return before && comparable(after, *before) ? before : nullptr;
}

std::function<Mark(std::size_t, std::size_t)> marks_of(const Walkthrough& walk,
                                                       const Exhibit& exhibit) {
  const Tensor& now = walk.trace().at(exhibit.name);
  const Tensor* before = changed_from(walk, exhibit.name);
  const Convention convention = walk.trace().convention;
  return [&exhibit, &now, before, convention](std::size_t row, std::size_t column) {
    if (exhibit.marked.contains({row, column})) return exhibit.mark;
    if (!before) return Mark::none;
    const auto [r, c] = as_seen(now, convention, row, column);
    const bool changed = differs(now.at(exhibit.matrix, r, c), before->at(exhibit.matrix, r, c));
    return changed ? Mark::changed : Mark::none;
  };
}

// "Q (2×7×2), head 1, rows 3–7 of 7"
std::string caption_of(const Walkthrough& walk, const Exhibit& exhibit, const Tensor& shown,
                       const Grid& lines) {
  const Tensor& tensor = walk.trace().at(exhibit.name);
  const std::string which = matrix_name(tensor, exhibit.matrix);
  return fmt::format("{} ({}){}{}{}", exhibit.name, shown_shape(tensor, walk.trace().convention),
                     which.empty() ? "" : ", " + which,
                     span_text("row", lines.first_row, lines.last_row, shown.rows()),
                     span_text("column", lines.first_column, lines.last_column, shown.columns()));
}

Block block_of(const Walkthrough& walk, const Exhibit& exhibit, std::size_t columns,
               std::size_t rows, Showcase& showcase) {
  const Trace& trace = walk.trace();
  const Tensor& shown = showcase.shown(walk, exhibit.name);
  const MatrixLabels labels = own_labels(trace.at(exhibit.name), exhibit.matrix, trace.convention);
  const Grid lines = grid(shown.rows(), shown.columns(), shown.matrix(exhibit.matrix),
                          {labels.rows, labels.columns},
                          {.width = columns,
                           .digits = walk.digits,
                           .colour = walk.colour && walk.picture != Picture::numbers,
                           .most_rows = rows,
                           .focus = GridFocus{exhibit.focus.first, exhibit.focus.second},
                           .mark = marks_of(walk, exhibit),
                           .measure = &showcase.measure(walk, exhibit.name, exhibit.matrix)});
  Block block{.lines = {},
              .hides_columns = lines.hidden_columns > 0,
              .first = {lines.first_row - 1, lines.first_column - 1},
              .last = {lines.last_row - 1, lines.last_column - 1}};
  const std::string caption = caption_of(walk, exhibit, shown, lines);
  for (const std::string& line : wrapped(caption, std::max<std::size_t>(columns, 12) - 2)) {
    block.lines.push_back("  " + line);
  }
  for (std::string& line : lines_of(lines.text)) block.lines.push_back(std::move(line));
  for (const std::string& line : block.lines) {
    block.width = std::max(block.width, shown_width(line));
  }
  return block;
}

// A matrix that is too wide in any case leaves room for another one where the window is wide.
std::size_t columns_for(const Walkthrough& walk, const Exhibit& exhibit, std::size_t columns,
                        Showcase& showcase) {
  if (columns < wide_window) return columns;
  return block_of(walk, exhibit, columns, 3, showcase).hides_columns ? (columns - gap) / 2
                                                                     : columns;
}

std::vector<Block> blocks_of(const Walkthrough& walk, const std::vector<Exhibit>& exhibits,
                             std::size_t columns, std::size_t rows, Showcase& showcase) {
  std::vector<Block> blocks;
  for (const Exhibit& exhibit : exhibits) {
    const std::size_t room = columns_for(walk, exhibit, columns, showcase);
    blocks.push_back(block_of(walk, exhibit, room, rows, showcase));
  }
  return blocks;
}

// Puts blocks beside each other as long as there is room, then below.
std::vector<std::string> laid_out(const std::vector<Block>& blocks, std::size_t columns) {
  std::vector<std::string> lines;
  for (std::size_t first = 0; first < blocks.size();) {
    std::size_t end = first, used = 0, height = 0;
    while (end < blocks.size() && (end == first || used + gap + blocks[end].width <= columns)) {
      used += (end == first ? 0 : gap) + blocks[end].width;
      height = std::max(height, blocks[end].lines.size());
      ++end;
    }
    if (first > 0) lines.emplace_back();
    for (std::size_t row = 0; row < height; ++row) {
      std::string line;
      for (std::size_t b = first; b < end; ++b) {
        const std::string part = row < blocks[b].lines.size() ? blocks[b].lines[row] : "";
        line += part;
        if (b + 1 == end) continue;
        line.append(blocks[b].width - shown_width(part) + gap, ' ');
      }
      line.erase(line.find_last_not_of(' ') + 1);
      lines.push_back(std::move(line));
    }
    first = end;
  }
  return lines;
}

// The exhibits with as many rows of each as fit into `height` lines; nothing where not even a few
// do.
std::vector<std::string> fitting(const Walkthrough& walk, const std::vector<Exhibit>& exhibits,
                                 WindowSize room, Showcase& showcase) {
  constexpr std::size_t fewest = 3;
  std::size_t largest = 0;
  for (const Exhibit& e : exhibits)
    largest = std::max(largest, showcase.shown(walk, e.name).rows());
  std::size_t rows = std::min({largest, most_rows, std::max(room.rows, fewest)});
  for (;; --rows) {
    std::vector<std::string> lines =
        laid_out(blocks_of(walk, exhibits, room.columns, rows, showcase), room.columns);
    if (lines.size() <= room.rows) return lines;
    if (rows <= fewest) return {};
    // So many lines are too many: no need to try each number of rows.
    const std::size_t over = lines.size() - room.rows;
    const std::size_t step = over / (exhibits.size() + 1);
    rows -= std::min(step, rows - fewest - 1);
  }
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
  return lines_of(worked_text(worked, look_of(walk, window.columns), 2));
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
std::vector<std::string> unseen_numbers(const Walkthrough& walk, const Exhibit& exhibit,
                                        const Block& block, std::size_t columns) {
  const auto shows = [&](const Spot& spot) {
    return spot.first >= block.first.first && spot.first <= block.last.first &&
           spot.second >= block.first.second && spot.second <= block.last.second;
  };
  if (std::all_of(exhibit.marked.begin(), exhibit.marked.end(), shows)) return {};
  const Tensor& tensor = walk.trace().at(exhibit.name);
  std::string text;
  for (const Spot& seen : exhibit.marked) {
    const Spot at = as_seen(tensor, walk.trace().convention, seen.first, seen.second);
    const CellReference cell{exhibit.name, exhibit.matrix, at.first, at.second};
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

std::vector<Exhibit> few(std::vector<Exhibit> exhibits) {
  if (exhibits.size() > most_operands) exhibits.resize(most_operands);
  return exhibits;
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
  return measures_.emplace(std::pair(name, matrix), measured(tensor.matrix(matrix), walk.digits))
      .first->second;
}

std::vector<std::string> cell_view(const Walkthrough& walk, const CellReference& cell,
                                   WindowSize window, Showcase& showcase) {
  const Trace& trace = walk.trace();
  const Spot seen = as_seen(trace.at(cell.name), trace.convention, cell.row, cell.column);
  const Exhibit result{.name = cell.name,
                       .matrix = cell.matrix,
                       .focus = seen,
                       .mark = Mark::picked,
                       .marked = {seen}};
  const std::vector<Exhibit> operands = few(used_by(trace, cell));
  std::vector<Exhibit> all = {result};
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
  const std::vector<Exhibit> used = used_by(walk.trace(), cell);
  std::vector<Exhibit> unmarked = used;
  for (Exhibit& operand : unmarked) operand.marked.clear();
  const std::vector<Block> blocks =
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
