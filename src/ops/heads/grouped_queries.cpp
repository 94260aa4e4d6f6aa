#include "ops/heads/grouped_queries.hpp"

#include <algorithm>

#include "ops/heads/head_axis.hpp"
#include "ops/operation.hpp"

namespace qkv {
namespace {

// The step with its second operand's heads dealt out one for each of the first's.
std::vector<Tensor> with_dealing(const Source& step, Dealing dealing) {
  const Tensor& shared = step.operand(1);
  const std::size_t heads = heads_of(step.operand(0));
  const std::size_t few = heads_of(shared);
  if (few < 2 || heads <= few || heads % few != 0) return {};
  const Tensor dealt = dealing(shared, heads);
  Call call = call_of(step);
  call.inputs[1] = &dealt;
  return {step.operation->compute(call)};
}

}  // namespace

Tensor with_repeated_heads(const Tensor& tensor, std::size_t heads,
                           const std::function<std::size_t(std::size_t head)>& taken) {
  const std::size_t few = heads_of(tensor);
  std::vector<Axis> axes = tensor.axes;
  axes[axes.size() - 3].size = heads;
  Tensor result = unwritten(std::move(axes));
  for (std::size_t m = 0; !result.values.empty() && m < result.matrices(); ++m) {
    std::ranges::copy(tensor.cells(m / heads * few + taken(m % heads)),
                      result.write_cells(m).begin());
  }
  return result;
}

Tensor dealt_in_group(const Tensor& shared, std::size_t heads) {
  const std::size_t times = heads / heads_of(shared);
  return with_repeated_heads(shared, heads, [&](std::size_t head) { return head / times; });
}

Tensor dealt_in_turn(const Tensor& shared, std::size_t heads) {
  const std::size_t few = heads_of(shared);
  return with_repeated_heads(shared, heads, [&](std::size_t head) { return head % few; });
}

Tensor all_the_first(const Tensor& shared, std::size_t heads) {
  return with_repeated_heads(shared, heads, [](std::size_t) { return std::size_t{0}; });
}

Tensor counted_off_tokens(const Tensor& shared, std::size_t heads) {
  const Tensor longer = with_tokens_repeated(shared, heads / heads_of(shared));
  return counted_off(longer, dealt_in_turn(shared, heads));
}

Tensor with_tokens_repeated(const Tensor& tensor, std::size_t times) {
  std::vector<Axis> axes = as_matrix(tensor).axes;
  Axis& tokens = axes[axes.size() - 2];
  tokens = {.name = tokens.name, .size = tokens.size * times};
  Tensor result = unwritten(std::move(axes));
  for (std::size_t m = 0; !result.values.empty() && m < result.matrices(); ++m) {
    const MatrixView rows = tensor.matrix(m);
    MatrixToWrite longer = result.write_matrix(m);
    for (std::size_t i = 0; i < result.rows(); ++i) {
      xt::view(longer, i, xt::all()) = xt::view(rows, i / times, xt::all());
    }
  }
  return result;
}

std::vector<Tensor> tiled_groups(const Source& step) { return with_dealing(step, dealt_in_turn); }

std::vector<Tensor> first_head_of_groups(const Source& step) {
  return with_dealing(step, all_the_first);
}

std::vector<Tensor> tokens_of_groups(const Source& step) {
  return with_dealing(step, counted_off_tokens);
}

}  // namespace qkv
