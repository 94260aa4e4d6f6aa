#include "ops/formula.hpp"

namespace qkv {

Tensor by_matrix(const Tensor& tensor, const std::function<Matrix(const MatrixView&)>& formula) {
  Tensor result = unwritten(tensor.axes);
  result.dot_width = tensor.dot_width;
  for (std::size_t m = 0; !result.values.empty() && m < result.matrices(); ++m) {
    xt::noalias(result.write_matrix(m)) = formula(tensor.matrix(m));
  }
  return result;
}

Tensor by_operands(const Call& call, Tensor result,
                   const std::function<Matrix(const Operands&)>& formula) {
  CellBase at{.call = &call, .output = &result};
  for (; !result.values.empty() && at.matrix < result.matrices(); ++at.matrix) {
    xt::noalias(result.write_matrix(at.matrix)) = formula(Operands(at));
  }
  return result;
}

}  // namespace qkv
