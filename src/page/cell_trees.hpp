#pragma once

#include "ops/numbers/numbers.hpp"
#include "trace/trace.hpp"

namespace qkv::inline page {

using CellIndex = std::array<std::size_t, 3>;  ///< matrix, row, column

/// How the cells of a step are named in its trees, for each operand and axis: by their distance
/// from the cell's own matrix (0), row (1) or column (2), or by their index (3). Cells in a long
/// sum are named in another way than those outside.
struct PlaceNames {
  struct OfOperand {
    std::array<std::uint8_t, 3> outside = {3, 3, 3}, in_sum = {3, 3, 3};
  };
  std::vector<OfOperand> operands;
};

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

/// Returns how a kind of term is written in a tree: "*" or "exp".
std::string_view sign_of(Expression::Kind kind);

CellTrees trees_of(const Trace& trace, const Step& step, const PlaceNames& names,
                   const std::vector<CellIndex>& cells, TreeInputs& inputs);

}  // namespace qkv::inline page
