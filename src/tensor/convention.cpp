#include "tensor/convention.hpp"

namespace qkv {

bool is_turned(const Tensor& tensor, Convention convention) {
  return convention == Convention::columns && tensor.rank() >= 2 &&
         tensor.axes[tensor.rank() - 2].name != "batch";
}

Tensor as_shown(const Tensor& tensor, Convention convention) {
  return is_turned(tensor, convention) ? transposed(tensor) : tensor;
}

std::string shown_shape(const Tensor& tensor, Convention convention) {
  Shape shape = tensor.shape();
  if (is_turned(tensor, convention)) std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  return shape_text(shape);
}

}  // namespace qkv
