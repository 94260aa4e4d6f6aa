#pragma once

#include "page/pages.hpp"

namespace qkv::inline page {

using CellIndex = std::array<std::size_t, 3>;  ///< matrix, row, column

/// How the cells of a step are named in its trees, for each operand and axis: by their distance
/// from the cell's own matrix (0), row (1) or column (2), or by their index (3). Cells in a long
/// sum are named in another way than those outside.
struct OperandNames {
  std::array<std::uint8_t, 3> outside = {3, 3, 3}, in_sum = {3, 3, 3};
};
using PlaceNames = std::vector<OperandNames>;  ///< of each operand

/// Returns the names by which the fewest trees are needed. `samples` are cells of the step, such as
/// its corners.
PlaceNames place_names(const Trace& trace, const Step& step, const std::vector<CellIndex>& samples);

/// What a page must include beside the trees: the cells that are read, and values of functions that
/// browsers lack, or round in another way.
struct TreeInputs {
  bool all_functions = false;  ///< not only those that browsers lack
  std::map<std::pair<Expression::Kind, std::array<double, 2>>, double> functions;
  std::map<std::string, std::vector<bool>, std::less<>> cells;  ///< of each tensor, row-major
};

/// Returns for each cell a digest of its arithmetic with these names; cells with equal digests have
/// the same tree. Adds what they read of large matrices, and functions, to `inputs`.
std::vector<std::uint64_t> digests_of(const Trace& trace, const Step& step, const PlaceNames& names,
                                      const std::vector<CellIndex>& cells, TreeInputs& inputs);

/// The arithmetic of every shown cell of a step, as postfix text: `report_arithmetic.js` says how
/// it is read. Cells with the same tree share it.
struct CellTrees {
  std::vector<std::string> trees;
  std::vector<int> which;              ///< the tree of each cell; -1 if it is too long for a page
  std::vector<std::uint64_t> digests;  ///< of each cell
  std::vector<bool> reads;             ///< of each operand: whether a tree has a cell of it
  bool browser_can_recompute = true;   ///< the functions in it are those that browsers have
};

CellTrees trees_of(const Trace& trace, const Step& step, const PlaceNames& names,
                   const std::vector<CellIndex>& cells, TreeInputs& inputs);

/// The part of a tensor that a report shows: large ones lose their middle rows and columns. Indices
/// are in storage order (tokens as rows).
struct TensorView {
  std::string name;
  const Tensor* tensor = nullptr;
  const Step* step = nullptr;  ///< nullptr for a given
  bool is_ids = false;         ///< its numbers are names without an order
  bool one_head = false;       ///< only one head is shown
  Selection matrices, rows, columns;

  std::vector<CellIndex> cells() const;  ///< by matrix, row and column
};

/// Returns the view of a given, or of a step's output: all of it if it is small and may be whole.
TensorView view_of(std::string name, const Tensor& tensor, const Step* step = nullptr,
                   bool may_be_whole = true);

/// Returns the views of all givens and steps in walk order: a step's new givens come before it.
/// Unused givens are left out, and so are other heads if `head` is chosen.
std::vector<TensorView> views_of(const Trace& trace, std::optional<std::size_t> head = {});

/// Returns every shown matrix as a table of shaded numbers with a caption (`caption`, head and
/// shape) and labels. `mark` is the attribute that links the cells to a tensor of the report's
/// data, ` data-tensor="3"`. If the tensor is not shown in full, a line below says so, with the
/// command `whole` that shows it.
std::string heatmaps(const TensorView& view, TokenLayout token_layout, int digits,
                     const std::string& caption, const std::string& mark, const std::string& whole);

/// Returns the trace with each step's intermediates, such as softmax's exponentials, inserted as
/// steps before it: their cells have arithmetic, too. Steps that the lesson hides have none.
Trace with_intermediates(const Lesson& lesson, const Trace& trace);

/// Returns the internal name of an intermediate; it contains a line break, so no lesson can use it.
std::string intermediate_name(std::string_view step, std::string_view title);

/// Returns the displayed name: an intermediate's title, or the name itself.
std::string_view display_name(std::string_view name);

/// Longer sums lose their middle in a report, as in the walk.
inline constexpr std::size_t max_report_terms = 9;

/// Writes the data from which a report's script computes every cell's arithmetic, as JSON for a
/// <script> element: numbers, each step's trees, labels, function values. `map` is that of the
/// trace without intermediates. The head of `report_arithmetic.js` documents how it is read.
void write_report_data(const Lesson& lesson, const Trace& trace,
                       const std::vector<TensorView>& views, const LessonMap& map,
                       const ReportOptions& wish, const Sink& sink);

}  // namespace qkv::inline page
