#include "check/intake/heads_inside.hpp"

#include <algorithm>

namespace qkv {
namespace {

bool is_square(const Tensor& tensor) {
  return tensor.leading_axes() > 0 && tensor.matrices() > 1 &&
         tensor.axes[tensor.leading_axes() - 1].size == tensor.rows();
}

// Sentences, tokens, heads, features are put in the order of sentences, heads, tokens, features.
Cells with_heads_first(const Cells& cells, const Tensor& tensor) {
  const std::size_t heads = tensor.axes[tensor.leading_axes() - 1].size;
  const std::size_t rows = tensor.rows();
  const std::size_t columns = tensor.columns();
  Numerals result(cells.size());
  for (std::size_t i = 0; i < result.size(); ++i) {
    const std::size_t sentence = i / (rows * heads * columns);
    const std::size_t row = i / (heads * columns) % rows;
    const std::size_t head = i / columns % heads;
    result[((sentence * heads + head) * rows + row) * columns + i % columns] = cells[i];
  }
  return Cells(std::move(result));
}

// The two shapes that hold the tensor's numbers with its heads behind its rows.
bool has_heads_inside(const Handed& handed, const Tensor& tensor) {
  const Shape right = tensor.shape();
  Shape middle = right;
  std::swap(middle[middle.size() - 3], middle[middle.size() - 2]);
  Shape joined(right.begin(), right.end() - 3);
  joined.insert(joined.end(), {tensor.rows(), right[right.size() - 3] * tensor.columns()});
  const Shape shape = without_leading_ones(handed.shape);
  return shape == without_leading_ones(middle) || shape == without_leading_ones(joined);
}

}  // namespace

void take_heads_out(const Trace& trace, std::vector<Handed>& handed, SquareHeads square) {
  for (Handed& matrix : handed) {
    const Tensor& tensor = trace.at(matrix.name);
    const bool whole = matrix.in_one_file && matrix.cells.size() == tensor.values.size();
    if (tensor.rank() < 3 || !whole || trace.convention != Convention::rows) continue;
    const bool inside = matrix.fits ? square == SquareHeads::inside && is_square(tensor)
                                    : has_heads_inside(matrix, tensor);
    if (!inside) continue;
    matrix.cells = with_heads_first(matrix.cells, tensor);
    matrix.shape = tensor.shape();
    matrix.fits = true;
    matrix.heads_inside = true;
  }
}

bool has_square_heads(const Trace& trace, const std::vector<Handed>& handed) {
  return std::ranges::any_of(handed, [&](const Handed& one) {
    return one.fits && one.in_one_file && is_square(trace.at(one.name));
  });
}

}  // namespace qkv
