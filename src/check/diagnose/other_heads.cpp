#include "check/diagnose/other_heads.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "ops/operation.hpp"
#include "tensor/tensor.hpp"

namespace qkv {
namespace {

// 1 where there is no axis of heads; more than these are not taken for each other.
std::size_t heads_of(const Tensor& tensor) {
  constexpr std::size_t most = 16;
  if (tensor.leading_axes() == 0) return 1;
  const Axis& axis = tensor.axes[tensor.leading_axes() - 1];
  return axis.name == "batch" || axis.size > most ? 1 : axis.size;
}

Tensor with_all_heads(const Tensor& tensor, std::size_t head) {
  const std::size_t heads = heads_of(tensor);
  Tensor result = unwritten(tensor.axes);
  result.dot_width = tensor.dot_width;
  for (std::size_t m = 0; m < tensor.matrices(); ++m) {
    xt::noalias(result.write_matrix(m)) = tensor.matrix(m - m % heads + head);
  }
  return result;
}

// Cells that lie beside each other, or one below the other: a head's in the result, or a column
// where the heads have been joined. Of many some will do to tell which head they are of.
struct Cells {
  std::size_t start, count, stride;
  std::size_t probes() const { return std::max<std::size_t>(1, count / 512); }
};

std::vector<Cells> parts_of(const Tensor& result) {
  const std::size_t rows = result.rows();
  const std::size_t columns = result.columns();
  std::vector<Cells> parts;
  for (std::size_t m = 0; m < result.matrices(); ++m) {
    const std::size_t start = m * rows * columns;
    if (heads_of(result) > 1) {
      parts.push_back({start, rows * columns, 1});
      continue;
    }
    for (std::size_t c = 0; c < columns; ++c) parts.push_back({start + c, rows, columns});
  }
  return parts;
}

using Numbers = std::function<double(std::size_t cell)>;

// How far another head's numbers are from what was written beside the right ones: at most 1 for
// each cell that is off, and so much if they come no nearer.
double distance(const Cells& cells, const Numbers& other, std::span<const double> right,
                std::span<const double> written, std::size_t& off) {
  double sum = 0;
  off = 0;
  for (std::size_t n = 0; n < cells.count; n += cells.probes()) {
    const std::size_t i = cells.start + n * cells.stride;
    const double gap = std::abs(right[i] - written[i]);
    if (std::isnan(written[i]) || right[i] == written[i]) continue;
    ++off;
    const double left = other(i) == written[i] ? 0 : std::abs(other(i) - written[i]);
    sum += std::isnan(left) || std::isinf(gap) ? (left == 0 ? 0 : 1) : std::min(1.0, left / gap);
  }
  return sum;
}

// Each part with the numbers of the head that comes nearest.
std::vector<Tensor> nearest(const Tensor& right, std::span<const double> written, std::size_t heads,
                            const std::function<double(std::size_t head, std::size_t cell)>& of) {
  Tensor result = right;
  const std::span<double> numbers = result.values.write();
  bool any = false;
  for (const Cells& cells : parts_of(right)) {
    std::size_t off = 0;
    std::size_t best_head = 0;
    double best = std::numeric_limits<double>::infinity();
    for (std::size_t head = 0; head < heads; ++head) {
      const double d = distance(
          cells, [&](std::size_t i) { return of(head, i); }, right.values, written, off);
      if (d < best) best_head = head;
      best = std::min(best, d);
    }
    if (best >= static_cast<double>(off)) continue;
    any = true;
    for (std::size_t n = 0; n < cells.count; ++n) {
      const std::size_t i = cells.start + n * cells.stride;
      numbers[i] = of(best_head, i);
    }
  }
  if (!any) return {};
  return {std::move(result)};
}

// The step with one operand's heads all the same, for each head.
std::vector<Tensor> with_operand(const Source& step, std::size_t k) {
  const Tensor& operand = *step.inputs[k]->tensor;
  std::vector<Tensor> results;
  for (std::size_t head = 0; head < heads_of(operand); ++head) {
    const Tensor other = with_all_heads(operand, head);
    Call call = call_of(step);
    call.inputs[k] = &other;
    results.push_back(step.operation->compute(call));
  }
  return results;
}

}  // namespace

std::vector<Tensor> taken_from_other_heads(const Source& step, std::span<const double> written) {
  const Tensor& right = *step.tensor;
  const std::span<const double> numbers = right.values;
  const std::size_t heads = heads_of(right);
  std::vector<Tensor> results;
  if (heads > 1) {
    const std::size_t size = right.rows() * right.columns();
    results = nearest(right, written, heads, [&](std::size_t head, std::size_t i) {
      const std::size_t m = i / size;
      return numbers[(m - m % heads + head) * size + i % size];
    });
  }
  constexpr std::size_t many = std::size_t{1} << 16;  // then only a program's whole heads
  for (std::size_t k = 0; k < step.inputs.size() && numbers.size() <= many; ++k) {
    const std::vector<Tensor> others = with_operand(step, k);
    const bool fit = others.size() > 1 && others.front().values.size() == numbers.size();
    if (!fit) continue;
    for (Tensor& made :
         nearest(right, written, others.size(), [&](std::size_t head, std::size_t i) {
           return std::as_const(others[head]).values[i];
         })) {
      results.push_back(std::move(made));
    }
  }
  return results;
}

}  // namespace qkv
