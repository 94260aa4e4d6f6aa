#include "tensor/tensor.hpp"

#include <stdexcept>

namespace qkv::inline tensor {

bool is_shown_transposed(const Tensor& tensor, TokenLayout token_layout) {
  return token_layout == TokenLayout::columns && tensor.rank() >= 2 &&
         tensor.axes[tensor.rank() - 2].name != "batch";
}

Tensor as_shown(const Tensor& tensor, TokenLayout token_layout) {
  return is_shown_transposed(tensor, token_layout) ? transposed(tensor) : tensor;
}

std::string shown_shape(const Tensor& tensor, TokenLayout token_layout) {
  Shape shape = tensor.shape();
  if (is_shown_transposed(tensor, token_layout))
    std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  return shape_text(shape);
}

std::string_view Axis::label(std::size_t i, std::size_t batch) const {
  if (labels.empty() || i >= size) return {};
  const std::size_t sentences = labels.size() / size;
  return labels[std::min(batch, sentences - 1) * size + i];
}

std::size_t Tensor::matrices() const {
  std::size_t count = 1;
  for (std::size_t a = 0; a < leading_axes(); ++a) count *= axes[a].size;
  return count;
}

Shape Tensor::shape() const {
  Shape shape;
  for (const Axis& axis : axes) shape.push_back(axis.size);
  return shape;
}

Axis Tensor::row_axis() const {
  return rank() < 2 ? Axis{.name = "", .size = 1} : axes[rank() - 2];
}

std::span<const double> Tensor::cells(std::size_t matrix_index) const {
  const std::size_t size = rows() * columns();
  return values.part(matrix_index * size, size);
}

std::span<double> Tensor::mutable_cells(std::size_t matrix_index) {
  const std::size_t size = rows() * columns();
  return values.mutable_span().subspan(matrix_index * size, size);
}

double Tensor::at(std::size_t matrix_index, std::size_t row, std::size_t column) const {
  return values[(matrix_index * rows() + row) * columns() + column];
}

Tensor zeros(std::vector<Axis> axes) {
  Tensor tensor{.axes = std::move(axes), .values = {}};
  tensor.values = std::vector<double>(element_count(tensor.shape(), "a tensor"));
  return tensor;
}

Tensor uninitialised(std::vector<Axis> axes) {
  Tensor tensor{.axes = std::move(axes), .values = {}};
  tensor.values = Values::uninitialised(element_count(tensor.shape(), "a tensor"));
  return tensor;
}

Tensor uninitialised_like(const Tensor& other) {
  Tensor tensor = uninitialised(other.axes);
  tensor.dot_width = other.dot_width;
  return tensor;
}

Tensor tensor_of(const Shape& shape, Values values) {
  if (element_count(shape, "a tensor") != values.size()) {
    throw std::logic_error("a tensor of shape " + shape_text(shape) + " cannot hold " +
                           std::to_string(values.size()) + " values");
  }
  Tensor tensor{.axes = {}, .values = std::move(values)};
  for (const std::size_t size : shape) tensor.axes.push_back({.name = "", .size = size});
  return tensor;
}

AxisRoles::AxisRoles(const Tensor& tensor)
    : outer(tensor.axes.begin(), tensor.axes.begin() + static_cast<long>(tensor.leading_axes())),
      rows(tensor.row_axis()),
      columns(tensor.axes.back()) {
  if (outer.empty()) return;
  heads = std::move(outer.back());
  outer.pop_back();
}

std::vector<Axis> AxisRoles::all() const {
  std::vector<Axis> axes = outer;
  if (heads) axes.push_back(*heads);
  axes.insert(axes.end(), {rows, columns});
  return axes;
}

Tensor as_matrix(Tensor tensor) {
  if (tensor.rank() < 2) tensor.axes.insert(tensor.axes.begin(), tensor.row_axis());
  return tensor;
}

Tensor transposed(const Tensor& tensor) {
  if (tensor.rank() < 2) return tensor;
  std::vector<Axis> axes = tensor.axes;
  std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
  Tensor result = uninitialised(std::move(axes));
  result.dot_width = tensor.dot_width;
  put(xt::transpose(tensor.array(), {0, 2, 1}), result.values.mutable_span());
  return result;
}

std::string shape_text(const Shape& shape) {
  std::string text;
  for (const std::size_t size : shape) {
    if (!text.empty()) text += "×";
    text += std::to_string(size);
  }
  return text;
}

std::vector<std::size_t> leading_index(const Tensor& tensor, std::size_t index) {
  std::vector<std::size_t> result(tensor.leading_axes());
  for (std::size_t a = result.size(); a-- > 0;) {
    const std::size_t size = std::max<std::size_t>(1, tensor.axes[a].size);
    result[a] = index % size;
    index /= size;
  }
  return result;
}

}  // namespace qkv::inline tensor
