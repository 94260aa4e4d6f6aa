#include "ops/attention/softmax.hpp"

#include <fmt/format.h>

#include <cmath>

#include "ops/catalogue.hpp"
#include "ops/heads/head_axis.hpp"
#include "ops/kinds/formula.hpp"
#include "ops/kinds/line.hpp"

namespace qkv {
namespace {

// What is left to a line whose largest weight is `most`: e^(top − top) is 1, so its sum is 1 /
// most.
double share_left(double most, double top, double sink) {
  return 1 / (1 + most * std::exp(sink - top));
}

// For each matrix of the scores a line's share that its sink leaves.
Matrix shares_left(const MatrixView& scores, const MatrixView& weights, double sink, Along along) {
  const Matrix top = tops(scores, along);
  const Matrix most = tops(weights, along);
  Matrix left = top;
  for (std::size_t i = 0; i < left.size(); ++i) {
    left.storage()[i] =
        top.storage()[i] == -infinity ? 1 : share_left(most.storage()[i], top.storage()[i], sink);
  }
  return left;
}

Tensor right_weights(const Source& step) { return softmax_operation.compute(call_of(step)); }

// What each line of the weights gives to its sink.
Matrix given_away(const MatrixView& weights, Along along) {
  const Matrix total = sums(weights, along);
  return xt::where(xt::equal(total, 0.0), 0.0, 1 - total);
}

// The weights with the sink's as a column before or behind them; in columns a row above or below.
enum class At { front, back };
Tensor with_column(const Tensor& weights, At at) {
  std::vector<Axis> axes = weights.axes;
  axes.back() = {.name = axes.back().name, .size = axes.back().size + 1};
  Tensor wider = unwritten(std::move(axes));
  const std::size_t first = at == At::front ? 1 : 0;
  const std::size_t sink = at == At::front ? 0 : weights.columns();
  for (std::size_t m = 0; !wider.values.empty() && m < wider.matrices(); ++m) {
    MatrixToWrite to = wider.write_matrix(m);
    xt::view(to, xt::all(), xt::range(first, first + weights.columns())) = weights.matrix(m);
    xt::view(to, xt::all(), xt::range(sink, sink + 1)) = given_away(weights.matrix(m), Along::rows);
  }
  return wider;
}

}  // namespace

bool has_sinks(const Call& call) { return call.inputs.size() == 2; }

double sink_of(const Call& call, std::size_t matrix) {
  return call.inputs[1]->values[matrix % heads_of(*call.inputs[0])];
}

void share_with_sink(std::span<const double> scores, std::span<double> weights, double sink) {
  const double top = top_of(scores);
  if (top == -infinity) return;
  const double left = share_left(top_of(weights), top, sink);
  for (double& weight : weights) weight *= left;
}

void check_sinks(const Call& call) {
  const std::size_t heads = heads_of(*call.inputs[0]);
  if (call.inputs[1]->values.size() == heads) return;
  refuse(call, fmt::format("{} must be a vector of {} sinks, one for each head of {}",
                           operand_text(call, 1), heads, operand_text(call, 0)));
}

Tensor with_sinks(const Call& call, Tensor weights) {
  for (std::size_t m = 0; !weights.values.empty() && m < weights.matrices(); ++m) {
    const Matrix alone = weights.matrix(m);
    const Matrix left =
        shares_left(call.inputs[0]->matrix(m), weights.matrix(m), sink_of(call, m), along_of(call));
    xt::noalias(weights.write_matrix(m)) = alone * left;
  }
  return weights;
}

std::vector<Tensor> sinks_skipped(const Source& step) {
  if (step.inputs.size() < 2) return {};
  Call call = call_of(step);
  call.inputs.resize(1);
  call.names.resize(1);
  return {softmax_operation.compute(call)};
}

std::vector<Tensor> sinks_scaled(const Source& step) {
  const std::size_t d_k = step.operand().dot_width;
  if (step.inputs.size() < 2 || d_k == 0) return {};
  const Tensor scaled =
      with_numbers(step.operand(1), step.operand(1).array() / std::sqrt(static_cast<double>(d_k)));
  Call call = call_of(step);
  call.inputs[1] = &scaled;
  return {softmax_operation.compute(call)};
}

// As a column before or behind the others; or before them, and the last one cut off.
std::vector<Tensor> sinks_kept(const Source& step) {
  if (step.inputs.size() < 2 || goes_down(call_of(step))) return {};
  const Tensor weights = right_weights(step);
  const Tensor before = with_column(weights, At::front);
  Tensor moved = by_matrix(weights, [](const MatrixView& w) -> Matrix { return w; });
  for (std::size_t m = 0; !moved.values.empty() && m < moved.matrices(); ++m) {
    xt::noalias(moved.write_matrix(m)) =
        xt::view(before.matrix(m), xt::all(), xt::range(std::size_t{0}, weights.columns()));
  }
  return {with_column(weights, At::back), before, std::move(moved)};
}

std::vector<Tensor> sinks_in_values(const Source& step) {
  const Source* weights = behind(step.inputs[0], softmax_operation);
  if (!weights || weights->inputs.size() < 2 || goes_down(call_of(*weights))) return {};
  const std::size_t keys = step.operand().columns();
  std::vector<Tensor> results;
  for (const std::size_t key : {std::size_t{0}, keys - 1}) {
    const Tensor more = by_matrix(step.operand(), [&](const MatrixView& w) -> Matrix {
      Matrix given = w;
      xt::view(given, xt::all(), xt::range(key, key + 1)) += given_away(w, Along::rows);
      return given;
    });
    Call call = call_of(step);
    call.inputs[0] = &more;
    results.push_back(step.operation->compute(call));
  }
  return results;
}

}  // namespace qkv
