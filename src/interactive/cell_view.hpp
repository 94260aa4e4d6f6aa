#pragma once

#include "interactive/frame.hpp"
#include "interactive/walkthrough.hpp"
#include "terminal/grid.hpp"

namespace qkv::inline interactive {

/// Caches the display form (transposed if needed) and the number format of a lesson's matrices.
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

/// Returns a cell with its arithmetic, its matrix and its operands; the cells used are highlighted.
/// Formats only the surroundings of the cell, however large the matrices are. In a small window,
/// the operands come last, below its end.
std::vector<std::string> cell_view(const Walkthrough& walk, const CellReference& cell,
                                   WindowSize window, MatrixCache& matrix_cache);

/// Returns the labelled operands of a cell without highlights; unseen ones follow by name.
std::vector<std::string> operands_view(const Walkthrough& walk, const CellReference& cell,
                                       WindowSize window, MatrixCache& matrix_cache);

/// A move in display layout: rows down, columns right, matrices forward.
struct CellMove {
  long rows = 0;
  long columns = 0;
  long matrices = 0;
};

/// Returns the cell after the move; rows and columns stop at the edges, matrices wrap around.
CellReference moved(const Walkthrough& walk, CellReference cell, const CellMove& move);

}  // namespace qkv::inline interactive
