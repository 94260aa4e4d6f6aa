#include "ops/attention/softmax.hpp"

#include "ops/heads/head_axis.hpp"
#include "tensor/matmul.hpp"

namespace qkv::inline ops {
namespace {

// Fewer scores than these are stored: they cost little, and keep the last bits of the single steps.
constexpr double worth_it = 1 << 20;

// Few enough rows for the scores to stay in the cache, enough for large blocks of a product.
std::size_t rows_at_a_time(std::size_t keys) {
  constexpr std::size_t numbers = std::size_t{1} << 18;
  return std::clamp<std::size_t>(numbers / std::max<std::size_t>(1, keys), 64, 256);
}

// True if no score can be infinite or nan, so that hidden ones need not be looked at.
bool stay_finite(const Call& score, const Tensor& values) {
  constexpr double far_from_overflow = 1e300;
  const Values& query = score.inputs[0]->values;
  const Values& key = score.inputs[1]->values;
  if (!all_finite(query) || !all_finite(key) || !all_finite(values.values)) return false;
  const auto terms = static_cast<double>(score.inputs[0]->columns());
  return largest_magnitude(query) * largest_magnitude(key) * terms < far_from_overflow;
}

/// Computes weights from queries and keys. It copies what it needs and keeps nothing of the calls.
class FusedKernel : NotCopied {
 public:
  explicit FusedKernel(std::span<const FusedStep> steps)
      : score_(steps.front().call), frame_(*steps.back().call.inputs[0]) {
    for (const FusedStep& step : steps.subspan(1, steps.size() - 3)) {
      works_.push_back(*step.operation->in_place(step.call));
    }
    const Call& softmax = steps[steps.size() - 2].call;
    for (std::size_t m = 0; has_sinks(softmax) && m < frame_.matrices(); ++m) {
      sinks_.push_back(sink_of(softmax, m));
    }
    for (std::size_t k = 0; k < 2; ++k) operands_.push_back(*score_.inputs[k]);
    for (std::size_t k = 0; k < 2; ++k) score_.inputs[k] = &operands_[k];
  }

  const Tensor& frame() const { return frame_; }
  std::size_t features() const { return operands_[0].columns(); }

  // The keys that any of these queries sees: both ends of the range grow from row to row.
  Indices seen(std::size_t first, std::size_t count) const {
    if (works_.empty() || !works_.back().seen) return {0, frame_.columns()};
    const MaskPattern& of_query = *works_.back().seen;
    return {of_query(first).from, of_query(first + count - 1).to};
  }

  // Computes the weights of `count` queries of a head for these keys, one row per query.
  void weigh(std::size_t matrix, std::size_t first, std::size_t count, Indices keys,
             std::span<double> weights) const {
    const CellBase at{.call = &score_, .output = &frame_, .matrix = matrix};
    const std::size_t width = keys.size();
    multiply(rows_of(at, 0, first, count), rows_of(at, 1, keys.from, width), weights,
             {count, features(), width}, RightSide::transposed);
    thread_local Scratch scratch;
    const std::span<double> scores = scratch.of(width);
    for (std::size_t i = 0; i < count; ++i) {
      const std::span<double> row = weights.subspan(i * width, width);
      std::ranges::copy(row, scores.begin());
      for (const InPlaceKernel& step : works_) step.work({matrix, first + i, keys.from, scores});
      softmax_of_row(scores, row, true);
      if (!sinks_.empty()) share_with_sink(scores, row, sinks_[matrix]);
    }
  }

  static std::span<const double> rows_of(const CellBase& at, std::size_t operand, std::size_t first,
                                         std::size_t count) {
    const Tensor& tensor = at.input(operand);
    const std::size_t row = at.matrix_index(operand) * tensor.rows() + first;
    return tensor.values.part(row * tensor.columns(), count * tensor.columns());
  }

 private:
  Call score_;
  Tensor frame_;  // the weights' axes, without values
  std::vector<Tensor> operands_;
  std::vector<InPlaceKernel> works_;
  std::vector<double> sinks_;  // one for each matrix, if there are any
};

// Computes the result, a block of one head's queries at a time.
void mix(const FusedKernel& weigher, const Call& sum, Tensor& result) {
  const std::span<double> all = result.values.mutable_span();
  const std::size_t rows = weigher.frame().rows();
  const std::size_t keys = weigher.frame().columns();
  const std::size_t features = result.columns();
  const std::size_t height = rows_at_a_time(keys);
  const std::size_t blocks = (rows + height - 1) / height;
  const auto mix_block = [&](std::size_t matrix, std::size_t first, std::size_t count) {
    const Indices seen = weigher.seen(first, count);
    const auto out = all.subspan((matrix * rows + first) * features, count * features);
    if (seen.from >= seen.to) {
      std::ranges::fill(out, 0.0);
      return;
    }
    const std::size_t width = seen.size();
    thread_local Scratch scratch;
    const std::span<double> weights = scratch.of(count * width);
    weigher.weigh(matrix, first, count, seen, weights);
    const CellBase at{.call = &sum, .output = &result, .matrix = matrix};
    multiply(weights, FusedKernel::rows_of(at, 1, seen.from, width), out, {count, width, features},
             RightSide::as_is);
  };
  constexpr std::size_t products_a_copy = 8;
  parallel_for(blocks * weigher.frame().matrices(), 1,
               height * keys * (weigher.features() + features) / products_a_copy,
               [&](std::size_t block, std::size_t end) {
                 for (; block < end; ++block) {
                   const std::size_t first = block % blocks * height;
                   mix_block(block / blocks, first, std::min(height, rows - first));
                 }
               });
}

Values weights_on_demand(std::shared_ptr<const FusedKernel> weigher) {
  const Tensor& frame = weigher->frame();
  const auto weigh = [weigher](std::size_t first, std::span<double> cells) {
    const std::size_t rows = weigher->frame().rows();
    const std::size_t width = weigher->frame().columns();
    parallel_for(cells.size() / width, 16, 4 * width, [&](std::size_t i, std::size_t end) {
      for (; i < end; ++i)
        weigher->weigh((first + i) / rows, (first + i) % rows, 1, {0, width},
                       cells.subspan(i * width, width));
    });
  };
  return Values::lazy(frame.matrices() * frame.rows() * frame.columns(), frame.columns(), weigh);
}

}  // namespace

AttentionPart attention_part(const Operation& operation) {
  if (&operation == &score_operation) return AttentionPart::scores;
  if (&operation == &softmax_operation) return AttentionPart::weights;
  if (&operation == &weighted_sum_operation) return AttentionPart::result;
  return operation.in_place ? AttentionPart::between : AttentionPart::none;
}

std::optional<Tensor> fused_frame(const Operation& operation, const Call& call) {
  switch (attention_part(operation)) {
    case AttentionPart::scores: {
      Tensor frame = frame_of(call, operation.form(call));
      frame.dot_width = call.inputs[0]->columns();
      double numbers = 1;
      for (const Axis& axis : frame.axes) numbers *= static_cast<double>(axis.size);
      if (numbers < worth_it) return {};
      return frame;
    }
    case AttentionPart::between: {
      std::optional<InPlaceKernel> rows = operation.in_place(call);
      const bool is_wider = rows && rows->frame.matrices() != call.inputs[0]->matrices();
      if (!rows || !rows->cell_by_cell || is_wider) return {};
      return std::move(rows->frame);
    }
    case AttentionPart::weights:
      if (is_columnwise(call)) return {};
      if (has_sinks(call)) require_one_per_head(call, "sinks");
      return frame_of(call, operation.form(call));
    default: return {};
  }
}

std::optional<FusedAttention> fused_attention(std::span<const FusedStep> steps) {
  const Call& sum = steps.back().call;
  if (!stay_finite(steps.front().call, *sum.inputs[1])) return {};
  Tensor result = output_of(sum, steps.back().operation->form(sum));
  const auto weigher = std::make_shared<const FusedKernel>(steps);
  if (result.matrices() != weigher->frame().matrices()) return {};
  mix(*weigher, sum, result);
  return FusedAttention{std::move(result), weights_on_demand(weigher)};
}

}  // namespace qkv::inline ops
