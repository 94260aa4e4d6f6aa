#include "interactive/walkthrough.hpp"

namespace qkv::inline interactive {
namespace {

/// A matrix to show and its highlighted cells, in display layout.
struct MarkedMatrix {
  std::string name;
  std::size_t matrix = 0;
  GridCell focus = {};
  Highlight highlight = Highlight::used;
  std::set<GridCell> marked = {};
  Tensor shown = {};         ///< the tensor as displayed
  NumberFormat format = {};  ///< of the matrix
};

constexpr std::size_t gap = 3;
constexpr std::size_t most_block_rows = 40;
constexpr std::size_t wide_window = 120;  // two large matrices fit side by side

GridCell displayed_position(const Tensor& tensor, TokenLayout token_layout, std::size_t row,
                            std::size_t column) {
  return is_shown_transposed(tensor, token_layout) ? GridCell{column, row} : GridCell{row, column};
}

void append(std::vector<std::string>& lines, const std::vector<std::string>& more) {
  lines.insert(lines.end(), more.begin(), more.end());
}

/// The original matrix; nullptr if it is unchanged or has another shape.
const Tensor* baseline_matrix(const Walkthrough& walk, const std::string& name) {
  if (!walk.own()) return nullptr;
  const Tensor* before = walk.own()->find(name);
  const Tensor& after = walk.trace().at(name);
  return before && comparable(after, *before) ? before : nullptr;
}

// The shown part: ", rows 3–7 of 9"; empty if all are shown.
std::string span_text(std::string_view what, const Selection& shown) {
  if (shown.hidden() == 0) return {};
  return fmt::format(", {}s {}–{} of {}", what, shown.indices.front() + 1, shown.indices.back() + 1,
                     shown.count);
}

std::function<Highlight(std::size_t, std::size_t)> highlights_of(const Walkthrough& walk,
                                                                 const MarkedMatrix& one) {
  const Tensor& now = walk.trace().at(one.name);
  const Tensor* before = baseline_matrix(walk, one.name);
  const TokenLayout token_layout = walk.trace().token_layout;
  return [&one, &now, before, token_layout](std::size_t row, std::size_t column) {
    if (one.marked.contains({row, column})) return one.highlight;
    if (!before) return Highlight::none;
    const auto [r, c] = displayed_position(now, token_layout, row, column);
    const bool changed = differs(now.at(one.matrix, r, c), before->at(one.matrix, r, c));
    return changed ? Highlight::changed : Highlight::none;
  };
}

/// Sets the display form and the number format of matrices, once for all the sizes that are tried.
/// Of a very large matrix the first numbers give the format.
void prepare(const Walkthrough& walk, std::vector<MarkedMatrix>& matrices) {
  constexpr std::size_t most_measured = 100'000;
  for (MarkedMatrix& one : matrices) {
    const Tensor& tensor = walk.trace().at(one.name);
    const std::span<const double> cells = tensor.cells(one.matrix);
    one.shown = as_shown(tensor, walk.trace().token_layout);
    one.format =
        number_format_of(cells.first(std::min(cells.size(), most_measured)), walk.style.digits);
  }
}

/// A matrix with its caption, in at most `columns` and `rows` of the window.
Grid pane_of(const Walkthrough& walk, const MarkedMatrix& one, std::size_t columns,
             std::size_t rows) {
  const Trace& trace = walk.trace();
  const Tensor& tensor = trace.at(one.name);
  const MatrixLabels labels = own_labels(tensor, one.matrix, trace.token_layout);
  Grid pane = grid(one.shown.rows(), one.shown.columns(), one.shown.cells(one.matrix), labels,
                   {.width = columns,
                    .digits = walk.style.digits,
                    .colour = walk.style.colour && walk.style.picture != Picture::numbers,
                    .max_rows = rows,
                    .focus = one.focus,
                    .highlight = highlights_of(walk, one),
                    .measure = &one.format});
  const std::string which = matrix_name(tensor, one.matrix);
  const std::string caption =  // "Q (2×7×2), head 1, rows 3–7 of 7"
      fmt::format("{} ({}){}{}{}", one.name, shown_shape(tensor, trace.token_layout),
                  which.empty() ? "" : ", " + which, span_text("row", pane.rows),
                  span_text("column", pane.columns));
  pane.text.insert(0, indented_lines(wrapped(caption, std::max<std::size_t>(columns, 12) - 2)));
  return pane;
}

// A matrix that is always too wide leaves room for another one in a wide window.
std::vector<Grid> panes_of(const Walkthrough& walk, std::span<const MarkedMatrix> matrices,
                           std::size_t columns, std::size_t rows) {
  return mapped(matrices, [&](const MarkedMatrix& one) {
    const bool shares =
        columns >= wide_window && pane_of(walk, one, columns, 3).columns.hidden() > 0;
    return pane_of(walk, one, shares ? (columns - gap) / 2 : columns, rows);
  });
}

std::vector<std::string> panes_side_by_side(const std::vector<Grid>& panes, std::size_t columns) {
  const auto lines = [](const Grid& pane) { return lines_of(pane.text); };
  return side_by_side(mapped(panes, lines), gap, columns);
}

/// The matrices with as many rows as fit; empty if even a few do not fit.
std::vector<std::string> fit_matrices(const Walkthrough& walk,
                                      std::span<const MarkedMatrix> matrices, WindowSize room) {
  constexpr std::size_t fewest = 3;
  std::size_t largest = 0;
  for (const MarkedMatrix& e : matrices) largest = std::max(largest, e.shown.rows());
  std::size_t rows = std::min({largest, most_block_rows, std::max(room.rows, fewest)});
  for (;; --rows) {
    std::vector<std::string> lines =
        panes_side_by_side(panes_of(walk, matrices, room.columns, rows), room.columns);
    if (lines.size() <= room.rows) return lines;
    if (rows <= fewest) return {};
    // Skip row counts that cannot fit either.
    const std::size_t over = lines.size() - room.rows;
    const std::size_t step = over / (matrices.size() + 1);
    rows -= std::min(step, rows - fewest - 1);
  }
}

constexpr std::size_t max_rows = 40;        // of the cell's matrix in a small window
constexpr std::size_t max_rows_below = 12;  // of an operand there
constexpr std::size_t max_operands = 6;     // of many heads, one per head

void collect(const Expression& term, std::vector<CellPlace>& places) {
  if (term.kind() == Expression::Kind::cell) places.push_back(term.place());
  for (const Expression& part : term.parts()) collect(part, places);
}

// The operands' matrices, and which of their cells are used.
std::vector<MarkedMatrix> used_by(const Trace& trace, const CellReference& cell) {
  const Step& step = trace.step_at(cell.name);
  std::vector<CellPlace> places;
  collect(expression_of(trace, step, cell), places);
  std::vector<MarkedMatrix> matrices;
  for (const CellPlace& place : places) {
    const std::string& name = step.of[place.operand];
    const GridCell seen =
        displayed_position(trace.at(name), trace.token_layout, place.row, place.column);
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
  const Tensor* before = baseline_matrix(walk, cell.name);
  if (!before) return {};
  const double old = before->at(cell.matrix, cell.row, cell.column);
  const double now = walk.trace().at(cell.name).at(cell.matrix, cell.row, cell.column);
  return differs(now, old) ? fmt::format(" (was {})", brief(old, walk.style.digits)) : "";
}

std::vector<std::string> arithmetic_lines(const Walkthrough& walk, const CellReference& cell,
                                          WindowSize window) {
  const std::size_t terms = window.rows >= 40 ? 24 : 8;
  const CellArithmetic worked =
      arithmetic_of(walk.trace(), cell, {.digits = walk.style.digits, .max_terms = terms});
  const std::string names_hint =
      fmt::format("qkv explain {} {}", walk.now->lesson.asked, shell_word(worked.cell));
  return lines_of(arithmetic_text(worked, window.columns, sanitise(names_hint)));
}

std::string legend(const Walkthrough& walk, bool has_operands) {
  std::string text = "  [ ] this cell";
  if (has_operands) text += "  ( ) what it is made of";
  if (walk.own()) text += "  * changed";
  return text;
}

// The highlighted numbers by name, if the window is too narrow to show all of them.
std::vector<std::string> unseen_numbers(const Walkthrough& walk, const MarkedMatrix& one,
                                        const Grid& block, std::size_t columns) {
  const auto shows = [&](const GridCell& spot) {
    return contains(block.rows, spot.row) && contains(block.columns, spot.column);
  };
  if (std::all_of(one.marked.begin(), one.marked.end(), shows)) return {};
  const Tensor& tensor = walk.trace().at(one.name);
  const TokenLayout layout = walk.trace().token_layout;
  const auto texts = mapped(one.marked, [&](const GridCell& seen) {
    const GridCell at = displayed_position(tensor, layout, seen.row, seen.column);
    return fmt::format("{} = {}",
                       reference_text({one.name, one.matrix, at.row, at.column}, tensor, layout),
                       brief(tensor.at(one.matrix, at.row, at.column), walk.style.digits));
  });
  const std::string text = sanitise(fmt::to_string(fmt::join(texts, ", ")));
  return lines_of("\n" +
                  indented_lines(broken_lines(text, std::max<std::size_t>(columns, 12) - 2)));
}

}  // namespace

std::vector<std::string> cell_view(const Walkthrough& walk, const CellReference& cell,
                                   WindowSize window) {
  const Trace& trace = walk.trace();
  const GridCell seen =
      displayed_position(trace.at(cell.name), trace.token_layout, cell.row, cell.column);
  std::vector<MarkedMatrix> all = used_by(trace, cell);
  if (all.size() > max_operands) all.resize(max_operands);
  all.insert(all.begin(), {.name = cell.name,
                           .matrix = cell.matrix,
                           .focus = seen,
                           .highlight = Highlight::picked,
                           .marked = {seen}});
  prepare(walk, all);
  const std::span<const MarkedMatrix> operands = std::span(all).subspan(1);
  std::vector<std::string> worked = arithmetic_lines(walk, cell, window);
  worked.front() += changed_text(walk, cell);
  worked.insert(worked.begin(), "");
  worked.emplace_back();
  worked.push_back(legend(walk, !operands.empty()));
  const std::size_t room = window.rows - std::min(window.rows, worked.size());
  std::vector<std::string> lines = fit_matrices(walk, all, {room, window.columns});
  if (!lines.empty()) {
    append(lines, worked);
    return lines;
  }
  const std::size_t rows = std::clamp<std::size_t>(room, 5, max_rows) - 2;
  lines = lines_of(pane_of(walk, all.front(), window.columns, rows).text);
  append(lines, worked);
  lines.emplace_back();
  append(lines, panes_side_by_side(panes_of(walk, operands, window.columns, max_rows_below),
                                   window.columns));
  return lines;
}

std::vector<std::string> operands_view(const Walkthrough& walk, const CellReference& cell,
                                       WindowSize window) {
  std::vector<MarkedMatrix> used = used_by(walk.trace(), cell);
  const std::vector<std::string>& of = walk.step().of;
  if (used.empty() && !of.empty())  // a hidden cell: no operand would give the answer away
    used.push_back(
        {.name = of.front(), .matrix = cell.matrix % walk.trace().at(of.front()).matrices()});
  std::vector<MarkedMatrix> unmarked = used;
  for (MarkedMatrix& operand : unmarked) operand.marked.clear();
  prepare(walk, unmarked);
  const std::vector<Grid> blocks = panes_of(walk, unmarked, window.columns, max_rows_below);
  std::vector<std::string> lines = panes_side_by_side(blocks, window.columns);
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
  const bool is_transposed = is_shown_transposed(tensor, walk.trace().token_layout);
  cell.row = step(cell.row, is_transposed ? move.columns : move.rows, tensor.rows());
  cell.column = step(cell.column, is_transposed ? move.rows : move.columns, tensor.columns());
  const auto count = static_cast<long>(tensor.matrices());
  const long to = (static_cast<long>(cell.matrix) + move.matrices) % count;
  cell.matrix = static_cast<std::size_t>((to + count) % count);
  return cell;
}

}  // namespace qkv::inline interactive
