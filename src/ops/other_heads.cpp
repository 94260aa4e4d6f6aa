#include "ops/other_heads.hpp"

#include <functional>

#include "ops/operation.hpp"

namespace qkv {
namespace {

std::size_t heads_of(const Tensor& tensor) {
  if (tensor.leading_axes() == 0) return 1;
  const Axis& axis = tensor.axes[tensor.leading_axes() - 1];
  return axis.name == "batch" ? 1 : axis.size;
}

Tensor with_heads(const Tensor& tensor, std::size_t heads,
                  const std::function<std::size_t(std::size_t head)>& taken) {
  Tensor result = unwritten(tensor.axes);
  result.dot_width = tensor.dot_width;
  for (std::size_t m = 0; m < tensor.matrices(); ++m) {
    xt::noalias(result.write_matrix(m)) = tensor.matrix(m - m % heads + taken(m % heads));
  }
  return result;
}

}  // namespace

std::vector<Tensor> with_other_heads(const Source& step) {
  constexpr std::size_t most_heads = 16;
  constexpr std::size_t many_numbers = std::size_t{1} << 18;  // then only the first one is tried
  std::vector<Tensor> results;
  const Call right = call_of(step);
  for (std::size_t k = 0; k < right.inputs.size(); ++k) {
    const Tensor& operand = *right.inputs[k];
    const std::size_t heads = heads_of(operand);
    if (heads < 2 || heads > most_heads || operand.values.empty()) continue;
    const auto add = [&](const std::function<std::size_t(std::size_t)>& taken) {
      const Tensor other = with_heads(operand, heads, taken);
      Call call = right;
      call.inputs[k] = &other;
      results.push_back(step.operation->compute(call));
    };
    const std::size_t tried = operand.values.size() > many_numbers ? 1 : heads;
    for (std::size_t head = 0; head < tried; ++head) add([head](std::size_t) { return head; });
    if (heads == 2 && tried == heads) continue;  // these were all
    add([heads](std::size_t head) { return (head + 1) % heads; });
    add([heads](std::size_t head) { return (head + heads - 1) % heads; });
  }
  return results;
}

}  // namespace qkv
