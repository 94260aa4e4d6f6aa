#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "interactive/frame.hpp"
#include "interactive/walkthrough.hpp"
#include "terminal/grid.hpp"

namespace qkv::inline interactive {

/// A lesson's matrices as people see them, ready to be shown again and again: those turned over are
/// turned once, and what all of a matrix's numbers decide is looked for once.
class MatrixCache {
 public:
  const Tensor& shown(const Walkthrough& walk, const std::string& name);
  const NumberFormat& measure(const Walkthrough& walk, const std::string& name, std::size_t matrix);

 private:
  void invalidate_if_changed(const Walkthrough& walk);

  std::shared_ptr<const LoadedLesson> of_;
  int digits_ = 0;
  std::map<std::string, Tensor> transposed_;
  std::map<std::pair<std::string, std::size_t>, NumberFormat> measures_;
};

/// A cell of a step with the cell picked in its matrix, the cells it is made of marked in theirs,
/// and its arithmetic. Only what is around the cell is looked at, however large the matrices are.
/// Where the window is small, the operands come last, below its end.
std::vector<std::string> cell_view(const Walkthrough& walk, const CellReference& cell,
                                   WindowSize window, MatrixCache& matrix_cache);

/// The operands of a cell with their labels, without telling which of their numbers it is made of;
/// those that the window has no room for follow by name.
std::vector<std::string> operands_view(const Walkthrough& walk, const CellReference& cell,
                                       WindowSize window, MatrixCache& matrix_cache);

/// How far a move goes, as people see the matrix: rows down, columns to the right, matrices on.
struct CellMove {
  long rows = 0;
  long columns = 0;
  long matrices = 0;
};

/// The cell after the move; it stops at the edges, and matrices go round.
CellReference moved(const Walkthrough& walk, CellReference cell, const CellMove& move);

}  // namespace qkv::inline interactive
