#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "interactive/frame.hpp"
#include "interactive/showcase.hpp"
#include "interactive/walkthrough.hpp"
#include "terminal/grid.hpp"

namespace qkv {

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
std::vector<MatrixBlock> blocks_of(const Walkthrough& walk,
                                   const std::vector<MarkedMatrix>& matrices, std::size_t columns,
                                   std::size_t rows, Showcase& showcase);

std::vector<std::string> laid_out(const std::vector<MatrixBlock>& blocks, std::size_t columns);

/// The matrices with as many rows of each as fit into the room; nothing where not even a few do.
std::vector<std::string> fitting(const Walkthrough& walk, const std::vector<MarkedMatrix>& matrices,
                                 WindowSize room, Showcase& showcase);

}  // namespace qkv
