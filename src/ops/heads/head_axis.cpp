#include "ops/heads/head_axis.hpp"

#include <fmt/format.h>

#include "ops/operation.hpp"

namespace qkv {

bool has_heads(const Tensor& tensor) {
  const std::size_t leading = tensor.leading_axes();
  return leading > 0 && tensor.axes[leading - 1].name != "batch";
}

std::size_t heads_of(const Tensor& tensor) {
  return has_heads(tensor) ? tensor.axes[tensor.leading_axes() - 1].size : 1;
}

void refuse_without_heads(const Call& call, std::string_view what) {
  if (has_heads(*call.inputs[0])) return;
  refuse(call, fmt::format("{} has no axis of heads{}", operand_text(call, 0), what));
}

Tensor with_heads(const Tensor& tensor, const std::function<std::size_t(std::size_t head)>& taken) {
  const std::size_t heads = heads_of(tensor);
  Tensor result = unwritten_like(tensor);
  for (std::size_t m = 0; m < tensor.matrices(); ++m) {
    xt::noalias(result.write_matrix(m)) = tensor.matrix(m - m % heads + taken(m % heads));
  }
  return result;
}

Tensor by_heads(const Tensor& tensor, std::size_t heads, Matrix (*formula)(const Matrix&)) {
  Tensor result = unwritten_like(tensor);
  const std::size_t size = heads * tensor.rows() * tensor.columns();
  const std::array shape = {heads, tensor.rows() * tensor.columns()};
  for (std::size_t first = 0; first < tensor.values.size(); first += size) {
    xt::noalias(seen_as<2>(result.values.write().subspan(first, size), shape)) =
        formula(seen_as<2>(tensor.values.part(first, size), shape));
  }
  return result;
}

std::vector<Tensor> with_other_heads(const Source& step) {
  constexpr std::size_t many_numbers = std::size_t{1} << 18;  // then only the first one is tried
  std::vector<Tensor> results;
  const Call right = call_of(step);
  for (std::size_t k = 0; k < right.inputs.size(); ++k) {
    const Tensor& operand = *right.inputs[k];
    const std::size_t heads = heads_of(operand);
    if (heads < 2 || heads > most_other_heads || operand.values.empty()) continue;
    const auto add = [&](const std::function<std::size_t(std::size_t)>& taken) {
      const Tensor other = with_heads(operand, taken);
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

Tensor counted_off(const Tensor& numbers, Tensor shape) {
  shape.values = numbers.values;
  return shape;
}

}  // namespace qkv
